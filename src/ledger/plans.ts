import { normalizeNumber } from '../numbers.ts';
import { hotQuery, type Transaction } from '../warehouse/database.ts';
import { defaultRuleLimits } from './limits.ts';
import type { SendPlan } from './send.ts';

/**
 * `planned`: the row stands as soon as the transaction commits. `duplicate`: this rule has answered this trigger, or is
 * about to. `thread_busy`: another send of the thread is under way, and nothing was planned.
 */
export type Planned = 'planned' | 'duplicate' | 'thread_busy';

/**
 * Plans a send, in the transaction of the decision. It waits only for transactions that plan for the same thread. A send
 * that still waits for its turn on an older trigger gives way to one on a newer: its answer would come too late.
 */
export async function planSend(tx: Transaction, plan: SendPlan): Promise<Planned> {
  const { rule, ruleVersion, trigger, text, mode, limits = {} } = plan;
  const line = normalizeNumber(plan.line);
  const number = normalizeNumber(plan.number);
  const key = [rule, line, number, trigger.kind, trigger.id];
  if (await isPlanned(tx, key)) return 'duplicate';
  await supersede(tx, line, number, trigger);
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
  return (await isPlanned(tx, key)) ? 'duplicate' : 'thread_busy';
}

async function isPlanned(tx: Transaction, key: readonly string[]): Promise<boolean> {
  const held = await hotQuery(
    tx,
    `select from ops.sends
     where rule = $1 and line = $2 and number = $3 and trigger_kind = $4 and trigger_id = $5`,
    key,
  );
  return held.length > 0;
}

async function supersede(tx: Transaction, line: string, number: string, trigger: SendPlan['trigger']): Promise<void> {
  await hotQuery(
    tx,
    `with old as (
       select send_id, state from ops.sends
       where line = $1 and number = $2 and state in ('PLANNED', 'HELD')
         and trigger_at <= $3 and (trigger_kind, trigger_id) <> ($4, $5) for update
     ), gone as (
       update ops.sends s set state = 'DENIED', reason = 'superseded', settled_at = now() from old
       where s.send_id = old.send_id returning s.send_id, old.state, s.fence
     )
     insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor)
     select send_id, state, 'DENIED', fence, 'superseded', 'rule' from gone`,
    [line, number, trigger.at, trigger.kind, trigger.id],
  );
}
