import { type Database, hotQuery, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { readLimits } from './rules-in-force.ts';
import { isUnsentRow, type SendState, states } from './states.ts';

/** Who paused. `recovery`: the database went back in time (`processes/lost-writes.ts`). */
export type Pauser = 'operator' | 'ledger' | 'recovery';

/** The kill switch: the single row of ops.send_control. */
export interface Control {
  readonly isPaused: boolean;
  /** Why sends were paused or, if known, who resumed them. */
  readonly reason: string | null;
  readonly by: Pauser | null;
  readonly since: Date;
  /** Micro-dollars: {@link highestUnit}. */
  readonly highestUnitMicros: number;
}

/**
 * SQL: the highest price of a segment within a day, in micro-dollars; 0 if there was none. Ignores a single wrong
 * price.
 */
export const highestUnit = sql`(select case when highest_unit_at > now() - interval '1 day' then highest_unit_micros else 0 end
  from ops.send_control)::float8`;

/** With the lock `share`, a pause waits until this transaction ends, so no send leaves after a pause. */
export async function readControl(db: Database | Transaction, lock: 'none' | 'share' = 'none'): Promise<Control> {
  const [control] = await hotQuery(
    db,
    sql<Control>`select is_paused as "isPaused", pause_reason as reason, case when is_paused then paused_by end as by, changed_at as since,
        ${highestUnit} as "highestUnitMicros"
      from ops.send_control ${lock === 'share' ? sql`for share` : sql``}`,
  );
  if (!control) throw new Error('ops.send_control has lost its row: apply the migrations again');
  return control;
}

/** Locks the switch. A transaction that makes an outcome unknown must call this before it locks the send. */
export async function lockControl(tx: Transaction): Promise<void> {
  await query(tx, sql`select from ops.send_control for update`);
}

/** Pauses all sends. Once this resolves, no new request leaves; requests in progress finish. */
export async function pauseSends(db: Database | Transaction, reason: string, by: Pauser = 'operator'): Promise<void> {
  await query(
    db,
    sql`update ops.send_control set is_paused = true, pause_reason = ${reason}, paused_by = ${by}, changed_at = clock_timestamp()`,
  );
}

/** Ends the pause. Due sends leave at once, unless they have expired. `reason` says who resumed. */
export function resumeSends(db: Database, reason: string | null = null): Promise<void> {
  return inTransaction(db, (tx) => resume(tx, null, reason));
}

/**
 * Ends the pause in a transaction. `by` is `ledger` if the ledger ends its own pause: outcomes that are still unknown
 * then keep counting.
 */
export async function resume(tx: Transaction, by: 'ledger' | null, reason: string | null = null): Promise<void> {
  await query(
    tx,
    sql`update ops.send_control set is_paused = false, pause_reason = ${reason}, paused_by = ${by}, changed_at = clock_timestamp()`,
  );
  await query(
    tx,
    sql`update ops.sends set enqueued_at = '-infinity' where state in ('PLANNED', 'HELD') and due_at <= now()`,
  );
}

/** So many unknown outcomes within so many minutes pause all sends: the connection to the service isn't reliable. */
const maxUnknown = 3;
const withinMinutes = 10;
const unknownWindow = sql.raw(`interval '${withinMinutes} minutes'`);

/** A send whose message was found in its thread no longer counts as unknown. */
const isUnclear = sql`s.state in ('UNKNOWN', 'NEEDS_HUMAN')`;

/** Pauses if too many outcomes have become unknown since an operator last resumed. The caller holds the switch. */
export async function pauseOnUnknowns(tx: Transaction): Promise<boolean> {
  const [row] = await query(
    tx,
    sql<{ count: number; is_paused: boolean }>`select c.is_paused, (select count(*)::integer from ops.sends s
        where ${isUnclear} and unknown_at > greatest(clock_timestamp() - ${unknownWindow},
          case when c.is_paused or c.paused_by = 'ledger' then '-infinity' else c.changed_at end)) as count
      from ops.send_control c`,
  );
  if (!row || row.is_paused || row.count < maxUnknown) return false;
  await pauseSends(tx, `${row.count} sends within ${withinMinutes} minutes had an unknown outcome`, 'ledger');
  return true;
}

/** SQL condition on the switch: the ledger paused, not an operator. */
export const isPausedByLedger = sql`is_paused and paused_by = 'ledger'`;

/** Ends the ledger's own pause once there are fewer unknown outcomes than the limit. Never ends an operator's pause. */
export async function endAutomaticPause(db: Database): Promise<boolean> {
  if ((await readControl(db)).by !== 'ledger') return false;
  return inTransaction(db, async (tx) => {
    await lockControl(tx);
    const ended = await query(
      tx,
      sql`select from ops.send_control c where ${isPausedByLedger} and ${maxUnknown} > (
        select count(*) from ops.sends s where ${isUnclear} and unknown_at > c.changed_at - ${unknownWindow})`,
    );
    if (ended.length === 0) return false;
    await resume(tx, 'ledger');
    return true;
  });
}

/**
 * Records the price of a segment. An equal price is renewed only once an hour, because every dispatch locks this row.
 */
export async function recordUnitPrice(tx: Transaction, micros: number): Promise<void> {
  await query(
    tx,
    sql`update ops.send_control set highest_unit_micros = ${micros}, highest_unit_at = now()
      where highest_unit_micros < ${micros} or highest_unit_at < now() - interval '1 day'
        or (highest_unit_micros = ${micros} and highest_unit_at < now() - interval '1 hour')`,
  );
}

/** Amounts in micro-dollars. */
export interface LedgerSummary {
  readonly control: Control;
  /** Of every state, in their order. */
  readonly counts: readonly StateCount[];
  readonly today: { readonly spent: number; readonly reserved: number };
  /** The daily budget of the rules in force. */
  readonly dailyMicros: number;
}

/** Sends of the last day and all open ones in a state. */
export interface StateCount {
  readonly state: SendState;
  readonly count: number;
  /** The dry runs among them. */
  readonly simulated: number;
  /** The dry runs that every gate let pass: they end as DENIED, although no gate refused them. */
  readonly passed: number;
}

export async function summarizeSends(db: Database): Promise<LedgerSummary> {
  const counts = await query(
    db,
    sql<StateCount>`
      with counted as (
        select state, count(*)::int as count, count(*) filter (where reason = 'dry_run')::int as passed,
          count(*) filter (where mode = 'dry-run' or reason = 'dry_run')::int as simulated
        from ops.sends where planned_at > now() - interval '1 day'
          or ${sql.raw(isUnsentRow)} or state in ('DISPATCHED', 'UNKNOWN')
          or state = 'NEEDS_HUMAN' and unknown_at is not null
        group by state
      )
      select state, coalesce(count, 0) as count, coalesce(simulated, 0) as simulated, coalesce(passed, 0) as passed
      from unnest(${[...states]}::text[]) with ordinality s (state, at) left join counted using (state) order by at`,
  );
  const [today] = await query(
    db,
    sql<LedgerSummary['today']>`select spent_micros::float8 as spent, reserved_micros::float8 as reserved
      from ops.send_budgets where scope = 'account' and budget_date = (now() at time zone 'UTC')::date`,
  );
  const { dailyMicros } = await readLimits(db);
  return { control: await readControl(db), counts, today: today ?? { spent: 0, reserved: 0 }, dailyMicros };
}
