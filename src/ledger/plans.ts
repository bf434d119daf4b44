import { normalizeNumber } from '../numbers.ts';
import { hotQuery, type Transaction } from '../warehouse/database.ts';
import { defaultRuleLimits } from './limits.ts';
import type { SendPlan } from './send.ts';
import { takeStep } from './transitions.ts';

/**
 * `planned`: the row stands as soon as the transaction commits. `duplicate`: this rule has answered this trigger, or is
 * about to, or another rule did before this one was in force: a rule that is renamed answers nobody twice. `thread_busy`: another send of the thread and the mode is under way, and nothing was planned.
 */
export type Planned = 'planned' | 'duplicate' | 'thread_busy';

/**
 * Plans a send, in the transaction of the decision. It waits only for transactions at sends of the same thread, never for a
 * budget. A send on an older trigger of which nothing can have left gives way to one on a newer: its answer would come too
 * late. A dry run and what goes out live are not in each other's way.
 */
export async function planSend(tx: Transaction, plan: SendPlan): Promise<Planned> {
  const { rule, ruleVersion, trigger, text, mode, limits = {} } = plan;
  const line = normalizeNumber(plan.line);
  const number = normalizeNumber(plan.number);
  const key = [rule, line, number, trigger.kind, trigger.id];
  if (await isPlanned(tx, key, mode, plan.ruleSince)) return 'duplicate';
  await supersede(tx, { line, number, trigger, mode });
  const planned = await hotQuery(
    tx,
    `with planned as (
       insert into ops.sends (rule, line, number, trigger_kind, trigger_id, rule_version, trigger_at, body, mode, limits, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $7::timestamptz + $11 * interval '1 second')
       on conflict do nothing returning send_id, fence
     )
     insert into ops.send_events (send_id, to_state, fence, actor) select send_id, 'PLANNED', fence, 'rule' from planned
     returning 1`,
    [
      ...key,
      ruleVersion ?? null,
      trigger.at,
      text,
      mode,
      JSON.stringify(limits),
      limits.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds,
    ],
  );
  if (planned.length > 0) return 'planned';
  return (await isPlanned(tx, key, mode)) ? 'duplicate' : 'thread_busy';
}

async function isPlanned(
  tx: Transaction,
  key: readonly string[],
  mode: SendPlan['mode'],
  ruleSince?: Date,
): Promise<boolean> {
  const held = await hotQuery(
    tx,
    `select from ops.sends
     where line = $2 and number = $3 and trigger_kind = $4 and trigger_id = $5
       and (rule = $1 or (planned_at < $6 and mode = $7))`,
    [...key, ruleSince ?? null, mode],
  );
  return held.length > 0;
}

/**
 * Of PLANNED and HELD nothing has left, of RESERVED neither: the fence keeps its worker from the dispatch. What it had
 * reserved is left to the workers: budgets are theirs, and this transaction may hold many threads.
 */
async function supersede(
  tx: Transaction,
  { line, number, trigger, mode }: Pick<SendPlan, 'line' | 'number' | 'trigger' | 'mode'>,
): Promise<void> {
  const older = await hotQuery<{ send_id: string; fence: number }>(
    tx,
    `select send_id, fence from ops.sends
     where line = $1 and number = $2 and mode = $3 and state in ('PLANNED', 'HELD', 'RESERVED')
       and trigger_at <= $4 and (trigger_kind, trigger_id) <> ($5, $6) for update`,
    [line, number, mode, trigger.at, trigger.kind, trigger.id],
  );
  for (const { send_id: sendId, fence } of older) {
    const step = { sendId, from: ['PLANNED', 'HELD', 'RESERVED'], to: 'DENIED', reason: 'superseded' } as const;
    await takeStep(tx, { ...step, actor: 'rule', set: { fence: fence + 1 } });
  }
}
