import { type Database, hotQuery, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { Pair } from '../shared/thread.ts';
import { releaseBudget } from './budgets.ts';
import { defaultRuleLimits, type Mode } from './limits.ts';
import {
  lockSend,
  markSends,
  type Send,
  type SendPlan,
  type SendRow,
  sendColumns,
  toSend,
  transition,
} from './send.ts';
import { isUnsent, isUnsentRow } from './states.ts';

/**
 * The id of the planned send; its row exists once the transaction commits. Otherwise nothing was planned. `duplicate`:
 * this rule has already handled the trigger, or another rule had before this one took effect (so a renamed rule answers
 * nobody twice). A call is answered only once, whatever the rule and the trigger. `thread_busy`: the thread has another
 * open send in this mode.
 */
export type PlanResult = { readonly sendId: string } | 'duplicate' | 'thread_busy';

/**
 * Plans a send in the transaction of the rule's decision. Waits only for transactions on sends of the same thread,
 * never for a budget. Supersedes sends for older triggers if no request of theirs can have left. Dry-run and live sends
 * don't block each other.
 */
export async function planSend(tx: Transaction, given: SendPlan): Promise<PlanResult> {
  const plan = { ...given, line: normalizeNumber(given.line), number: normalizeNumber(given.number) };
  const { rule, ruleVersion = null, line, number, trigger, text, mode, limits = {} } = plan;
  if (await isPlanned(tx, plan)) return 'duplicate';
  await supersede(tx, plan);
  const maxAgeSeconds = limits.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds;
  const [planned] = await hotQuery(
    tx,
    sql<{ sendId: string }>`with planned as (
        insert into ops.sends
          (rule, line, number, trigger_kind, trigger_id, rule_version, trigger_at, body, mode, limits, expires_at)
        values (${rule}, ${line}, ${number}, ${trigger.kind}, ${trigger.id}, ${ruleVersion}, ${trigger.at}, ${text},
          ${mode}, ${JSON.stringify(limits)}, ${trigger.at}::timestamptz + ${maxAgeSeconds} * interval '1 second')
        on conflict do nothing returning send_id, fence, planned_at, reserved_at, dispatched_at
      ), marked as (${markSends('planned')})
      insert into ops.send_events (send_id, to_state, fence, actor) select send_id, 'PLANNED', fence, 'rule' from planned
      returning send_id as "sendId"`,
  );
  if (planned) return planned;
  return (await isPlanned(tx, { ...plan, ruleSince: undefined })) ? 'duplicate' : 'thread_busy';
}

type PlanKey = Pick<SendPlan, 'rule' | 'line' | 'number' | 'trigger' | 'mode'> & {
  readonly ruleSince?: Date | undefined;
};

async function isPlanned(tx: Transaction, { rule, line, number, trigger, mode, ruleSince }: PlanKey): Promise<boolean> {
  const found = await hotQuery(
    tx,
    sql`select from ops.sends
      where number = ${number} and trigger_kind = ${trigger.kind} and trigger_id = ${trigger.id}
        and (line = ${line} and (rule = ${rule} or (planned_at < ${ruleSince ?? null} and mode = ${mode}))
          or trigger_kind = 'call' and mode = ${mode}
            and (state not in ('SKIPPED', 'REJECTED', 'DENIED', 'EXPIRED') or reason = 'dry_run'))`,
  );
  return found.length > 0;
}

/**
 * Denies the sends for older triggers. The new fence stops a worker that has reserved one from dispatching it. The
 * workers release the budget: this transaction may hold locks on many threads, and budgets must be locked in a fixed
 * order.
 */
async function supersede(tx: Transaction, { line, number, trigger, mode }: PlanKey): Promise<void> {
  const older = await hotQuery(
    tx,
    sql<Pick<Send, 'sendId' | 'fence' | 'state'>>`select send_id as "sendId", fence, state from ops.sends
      where line = ${line} and number = ${number} and mode = ${mode} and ${sql.raw(isUnsentRow)}
        and trigger_at <= ${trigger.at} and (trigger_kind, trigger_id) <> (${trigger.kind}, ${trigger.id}) for update`,
  );
  for (const { sendId, fence, state } of older) {
    const step = { sendId, from: [state], to: 'DENIED', reason: 'superseded' } as const;
    await transition(tx, { ...step, actor: 'rule', set: { fence: fence + 1 } });
  }
}

/**
 * Drops waiting sends of rules that are off, gone or no longer live in a new version. Gates drop those that a worker is
 * advancing. Returns how many live sends keep waiting with the words of earlier versions.
 */
export async function dropOthers(
  tx: Transaction,
  rules: readonly { readonly name: string; readonly mode: Mode }[],
): Promise<number> {
  const modes = new Map(rules.map(({ name, mode }) => [name, mode]));
  const waiting = await query(
    tx,
    sql<Pick<Send, 'sendId' | 'state' | 'mode' | 'rule'>>`select send_id as "sendId", state, mode, rule from ops.sends
      where ${sql.raw(isUnsentRow)} and rule_version is not null for update skip locked`,
  );
  let kept = 0;
  for (const { sendId, state, mode, rule } of waiting) {
    const now = modes.get(rule) ?? 'off';
    if (now === 'live' || now === mode) kept += mode === 'live' ? 1 : 0;
    else if (state !== 'RESERVED') {
      const reason = now === 'off' ? 'gate:rule_off' : 'dry_run';
      await transition(tx, { sendId, from: [state], to: 'DENIED', reason, actor: 'rule' });
    }
  }
  return kept;
}

/** A superseded send whose budget is still reserved. */
export const isUnreleased = sql`state = 'DENIED' and reserved_micros > 0`;

/** Releases the reservations of superseded sends in a thread, before their successor reserves its own. */
export async function releaseSuperseded(tx: Transaction, { line, number }: Pair): Promise<void> {
  const rows = await hotQuery(
    tx,
    sql<SendRow>`select ${sendColumns} from ops.sends s
      where line = ${line} and number = ${number} and ${isUnreleased} order by send_id for update`,
  );
  for (const send of rows.map(toSend)) {
    await releaseBudget(tx, send);
    await hotQuery(
      tx,
      sql`with released as (
          update ops.sends set reserved_micros = 0 where send_id = ${send.sendId} returning planned_at, reserved_at, dispatched_at
        ) ${markSends('released')}`,
    );
  }
}

const maxThreads = 20;

/** Releases the reservations of superseded sends in all threads, also where the successor never reserved. */
export async function releaseAllSuperseded({ db }: { readonly db: Database }): Promise<void> {
  const threads = await hotQuery(
    db,
    sql<Pair>`select distinct line, number from ops.sends
      where ${isUnreleased} limit ${maxThreads}`,
  );
  for (const thread of threads) await inTransaction(db, (tx) => releaseSuperseded(tx, thread));
}

/** Who drops a send, and why. */
export interface Dropping {
  readonly by: string;
  readonly why?: string | undefined;
}

/**
 * Cancels a send if no request of it can have left: the new fence stops a worker that has reserved it. Returns false if
 * a request has left, or if the send has ended.
 */
export function cancelSend(db: Database, sendId: string, given: Dropping): Promise<boolean> {
  return drop(db, sendId, { ...given, reason: 'cancelled', isPossible: isUnsent });
}

/** Rejects the text of a send that waits for approval. Returns false if it doesn't wait. */
export function rejectSend(db: Database, sendId: string, given: Dropping): Promise<boolean> {
  return drop(db, sendId, { ...given, reason: 'rejected', isPossible: ({ state }) => state === 'AWAITING_APPROVAL' });
}

function drop(
  db: Database,
  sendId: string,
  { reason, by, why, isPossible }: Dropping & { reason: string; isPossible: (send: Send) => boolean },
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (!send || !isPossible(send)) return false;
    if (send.reservedMicros > 0) await releaseBudget(tx, send);
    const set = { fence: send.fence + 1, reserved_micros: 0 };
    return transition(tx, { sendId, from: [send.state], to: 'DENIED', reason, actor: 'operator', by, why, set });
  });
}
