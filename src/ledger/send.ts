import { type Database, hotQuery, query, sql, type Transaction } from '../db/database.ts';
import type { RuleLimits } from './limits.ts';
import { isUnsentRow, type SendState } from './states.ts';

export type { SendState } from './states.ts';

/*
 * The life of a send (ops.sends):
 *
 *   rule ─▶ PLANNED ──gates, budget, fence + 1──▶ RESERVED ──thread read; commit before the first byte──▶ DISPATCHED
 *            │  ▲ ▲                                 │  │                                                      │
 *            │  │ └── lease expired, read failed ───┘  │            ┌───────── at most one request ───────────┤
 *            │  │                                      │            ▼                                         ▼
 *            │  └── HELD ◀── quiet hours, other sends ─┤     SENT, SKIPPED, REJECTED                       UNKNOWN
 *            │                                         │     NOT_SENT: PLANNED again,                        │
 *            └──▶ DENIED, EXPIRED ◀── a gate refuses ──┘     until it is too old                ┌────────────┤
 *                                                                                               ▼            ▼
 *                                        manual review ends it: SENT, NOT_SENT ◀── NEEDS_HUMAN    SENT, found in the thread
 *
 * If the rule has `approve`, the gates lead from PLANNED or HELD to AWAITING_APPROVAL instead, which reserves nothing. A
 * person approves the text (PLANNED, and all gates again) or rejects it (DENIED), or it becomes EXPIRED.
 *
 * An operator may cancel a send that isn't DISPATCHED yet (DENIED). A new version of the rules does the same if it
 * lacks the send's rule or turns it off; otherwise the send keeps its words. A send for a newer trigger supersedes one
 * that isn't DISPATCHED yet: the older one becomes DENIED.
 *
 * A crash leaves PLANNED, HELD and AWAITING_APPROVAL unchanged. When the lease of RESERVED expires, the send is PLANNED
 * again: no request can have left. When the lease of DISPATCHED expires, it is UNKNOWN: a request may have left. The
 * only way from UNKNOWN back to a request is a late answer to that same request that proves that nothing was sent.
 *
 * The service may charge a request although it answered as if the request had no effect. If its message shows up in the
 * thread, the send becomes SENT, whatever its state.
 *
 * A thread has one open send at a time in each mode. An UNKNOWN send blocks the others for its first three scheduled reads.
 */

/** SQL: `ops.sends s` blocks other sends of its thread. Must equal the condition of the unique index sends_open. */
export const isOpenSend = `(s.${isUnsentRow} or s.state = 'DISPATCHED' or (s.state = 'UNKNOWN' and s.search_count < 3))`;

/** The allowed transitions from each state. Any other throws. */
const nextStates: Readonly<Record<SendState, readonly SendState[]>> = {
  PLANNED: ['RESERVED', 'HELD', 'AWAITING_APPROVAL', 'DENIED', 'EXPIRED', 'SENT'],
  HELD: ['RESERVED', 'HELD', 'AWAITING_APPROVAL', 'DENIED', 'EXPIRED', 'SENT'],
  AWAITING_APPROVAL: ['PLANNED', 'HELD', 'DENIED', 'EXPIRED', 'SENT'],
  RESERVED: ['DISPATCHED', 'PLANNED', 'HELD', 'DENIED', 'EXPIRED', 'SENT'],
  DISPATCHED: ['SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN'],
  UNKNOWN: ['SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'NEEDS_HUMAN'],
  NEEDS_HUMAN: ['SENT', 'NOT_SENT'],
  NOT_SENT: ['PLANNED', 'SENT'],
  SENT: [],
  SKIPPED: [],
  REJECTED: ['SENT'],
  DENIED: ['SENT'],
  EXPIRED: ['SENT'],
};

/** What a rule wants to send. */
export interface SendPlan {
  readonly rule: string;
  readonly ruleVersion?: string;
  /** When the rule took effect. It ignores triggers that any rule answered earlier. */
  readonly ruleSince?: Date;
  readonly line: string;
  /** The only recipient: two would make a group MMS. */
  readonly number: string;
  /** What the rule answers, with the values from the service. */
  readonly trigger: { readonly kind: 'message' | 'call'; readonly id: string; readonly at: Date };
  readonly text: string;
  readonly mode: 'dry-run' | 'live';
  readonly limits?: RuleLimits;
}

/** A row of ops.sends. Times are by the database's clock. */
export interface Send extends Omit<SendPlan, 'ruleVersion' | 'ruleSince' | 'limits'> {
  readonly sendId: string;
  readonly ruleVersion: string | null;
  readonly limits: RuleLimits;
  readonly state: SendState;
  readonly reason: string | null;
  /** Counts reservations and supersessions. A worker with an older fence can no longer dispatch. */
  readonly fence: number;
  readonly tries: number;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  /** Whether `dueAt` has passed. For RESERVED and DISPATCHED, `dueAt` is the end of the lease. */
  readonly isDue: boolean;
  /** Ids of the thread's messages just before the dispatch. */
  readonly baseline: readonly string[];
  readonly units: number | null;
  readonly reservedMicros: number;
  readonly settledMicros: number | null;
  readonly budgetDate: string | null;
  readonly messageId: string | null;
  readonly isReconciled: boolean;
  /** When a person approved the text. */
  readonly approvedAt: Date | null;
  readonly plannedAt: Date;
  readonly dispatchedAt: Date | null;
  readonly unknownAt: Date | null;
  readonly settledAt: Date | null;
}

/** The columns of `ops.sends s`, named as in `Send`. */
export const sendColumns = sql`s.send_id as "sendId", s.rule, s.rule_version as "ruleVersion", s.line, s.number,
  jsonb_build_object('kind', s.trigger_kind, 'id', s.trigger_id) as trigger, s.trigger_at, s.body as text, s.mode, s.limits,
  s.state, s.reason, s.fence, s.tries, s.due_at as "dueAt", s.expires_at as "expiresAt",
  s.due_at <= clock_timestamp() as "isDue", coalesce(s.baseline_message_ids, '{}')::text[] as baseline,
  s.units, s.reserved_micros::float8 as "reservedMicros",
  s.settled_micros::float8 as "settledMicros", s.budget_date::text as "budgetDate", s.message_id as "messageId",
  s.is_reconciled as "isReconciled", s.approved_at as "approvedAt", s.planned_at as "plannedAt", s.dispatched_at as "dispatchedAt",
  s.unknown_at as "unknownAt", s.settled_at as "settledAt"`;

export type SendRow = Omit<Send, 'trigger'> & { trigger: Omit<Send['trigger'], 'at'>; trigger_at: Date };

export function toSend({ trigger, trigger_at, ...row }: SendRow): Send {
  return { ...row, trigger: { ...trigger, at: trigger_at } };
}

export async function findSend(db: Database | Transaction, sendId: string): Promise<Send | undefined> {
  const rows = await hotQuery(db, sql<SendRow>`select ${sendColumns} from ops.sends s where send_id = ${sendId}`);
  return rows.map(toSend)[0];
}

/** Locks the row until the transaction ends. */
export async function lockSend(tx: Transaction, sendId: string): Promise<Send | undefined> {
  const rows = await hotQuery(
    tx,
    sql<SendRow>`select ${sendColumns} from ops.sends s where send_id = ${sendId} for update of s`,
  );
  return rows.map(toSend)[0];
}

/** One change of state. */
interface SendEvent {
  readonly at: Date;
  readonly from: SendState | null;
  readonly to: SendState;
  readonly reason: string | null;
  readonly actor: 'rule' | 'worker' | 'operator';
  /** The person, if the operator's name is known. */
  readonly by: string | null;
  /** What that person gave as the reason. */
  readonly why: string | null;
}

/** One send with its history, oldest first. */
export interface SendHistory {
  readonly send: Send;
  readonly events: readonly SendEvent[];
}

export async function readSend(db: Database | Transaction, sendId: string): Promise<SendHistory | undefined> {
  const send = await findSend(db, sendId);
  if (!send) return undefined;
  const events = await query(
    db,
    sql<SendEvent>`select observed_at as at, from_state as from, to_state as to, reason, actor, decided_by as by, why
      from ops.send_events
      where send_id = ${sendId} order by event_id`,
  );
  return { send, events };
}

/**
 * SQL: marks the days on which sends count, so that `reporting/outcomes.ts` counts these days again. Every statement
 * that changes what reports show of sends includes it. `rows` names its relations with the sends before and after.
 */
export function markSends(...rows: readonly string[]) {
  const days = rows.map((each) => `select planned_at, coalesce(dispatched_at, reserved_at) from ${each}`);
  return sql.raw(`insert into ops.send_markers (planned_at, charged_at) ${days.join(' union ')}`);
}

/** A change of state. It only applies while the send is still in one of the states `from`. */
interface Transition {
  readonly sendId: string;
  readonly from: readonly SendState[];
  /** The change only applies while the send has this fence. Every step after a reservation passes it. */
  readonly fence?: number;
  readonly to: SendState;
  readonly reason?: string | undefined;
  readonly actor?: 'rule' | 'worker' | 'operator';
  /** Who asked for it, and why. */
  readonly by?: string | undefined;
  readonly why?: string | undefined;
  /** Milliseconds until a worker takes it up again; a PLANNED send is taken up at its expiry. Default: unchanged. */
  readonly dueInMs?: number;
  readonly set?: Readonly<Partial<Record<SettableColumn, unknown>>>;
}

/** Columns that a transition may set besides state, reason and times. */
type SettableColumn =
  | 'approved_at'
  | 'baseline_message_ids'
  | 'body'
  | 'budget_date'
  | 'dispatched_at'
  | 'due_at'
  | 'expires_at'
  | 'fence'
  | 'is_reconciled'
  | 'message_id'
  | 'message_type'
  | 'reserved_micros'
  | 'settled_micros'
  | 'tries'
  | 'units';

/** The column that records when a send entered a state. */
const timeColumns: Partial<Record<SendState, string>> = {
  RESERVED: 'reserved_at',
  DISPATCHED: 'dispatched_at',
  UNKNOWN: 'unknown_at',
  SENT: 'settled_at',
  SKIPPED: 'settled_at',
  REJECTED: 'settled_at',
  NOT_SENT: 'settled_at',
  DENIED: 'settled_at',
  EXPIRED: 'settled_at',
  NEEDS_HUMAN: 'settled_at',
};

/**
 * Changes the state by compare-and-set, records it in ops.send_events, and marks its days for the reports. Returns
 * false and changes nothing if the send no longer has that state or fence. Throws for a transition that isn't in
 * `nextStates`.
 */
export async function transition(tx: Transaction, step: Transition): Promise<boolean> {
  const { sendId, from, fence, to, reason = null, actor = 'worker', by = null, why = null, dueInMs, set = {} } = step;
  const wrong = from.find((state) => !nextStates[state].includes(to));
  if (wrong !== undefined) throw new Error(`no send goes from ${wrong} to ${to}`);
  const sets = [sql`state = ${to}`, sql`reason = ${reason}`];
  for (const [column, value] of Object.entries(set)) sets.push(sql`${sql.raw(column)} = ${value}`);
  if (dueInMs !== undefined) {
    // Retry-After may ask for years, but the send expires long before.
    const latest = to === 'PLANNED' ? sql`expires_at + interval '1 second'` : sql`'infinity'`;
    const dueAt = sql`least(clock_timestamp() + ${dueInMs} * interval '1 ms', ${latest})`;
    sets.push(sql`due_at = ${dueAt}`, sql`enqueued_at = '-infinity'`);
  }
  const timeColumn = timeColumns[to];
  // Not now(), which is the start of the transaction.
  if (timeColumn !== undefined) sets.push(sql`${sql.raw(timeColumn)} = clock_timestamp()`);
  const rows = await hotQuery(
    tx,
    sql`with held as (
        select send_id, state as was, planned_at, reserved_at, dispatched_at from ops.sends
        where send_id = ${sendId} and state = any(${from}) ${fence === undefined ? sql`` : sql`and fence = ${fence}`} for update
      ), moved as (
        update ops.sends s set ${sql.join(sets)} from held where s.send_id = held.send_id
        returning s.send_id, held.was, s.state, s.fence, s.reason, s.planned_at, s.reserved_at, s.dispatched_at
      ), marked as (${markSends('held', 'moved')})
      insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor, decided_by, why)
      select send_id, was, state, fence, reason, ${actor}, ${by}::text, ${why}::text from moved returning 1`,
  );
  return rows.length > 0;
}
