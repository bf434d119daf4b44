import { hotQuery, type Transaction } from '../warehouse/database.ts';
import { nextStates, type SendState } from './states.ts';

/** One step of a send, guarded by what it must still be. */
export interface Step {
  readonly sendId: string;
  readonly from: readonly SendState[];
  /** Only while it has this fence; every step of a worker that made a reservation names it. */
  readonly fence?: number;
  readonly to: SendState;
  readonly reason?: string | undefined;
  readonly actor?: 'rule' | 'worker' | 'operator';
  /** When it is to be looked at next, from now; one that waits to leave, when it is too old at the latest. Default: as it is. */
  readonly dueInMs?: number;
  readonly set?: Readonly<Partial<Record<Settable, unknown>>>;
}

type Settable =
  | 'fence'
  | 'tries'
  | 'expires_at'
  | 'due_at'
  | 'baseline_message_ids'
  | 'looks_count'
  | 'message_type'
  | 'units'
  | 'reserved_micros'
  | 'settled_micros'
  | 'budget_date'
  | 'message_id'
  | 'is_reconciled';

/** The moment that a state is remembered by. By the clock, not the transaction: a dispatch begins with its commit. */
const momentOf: Partial<Record<SendState, string>> = {
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
 * Takes a step by compare-and-set, and writes it into the history. False, and nothing has changed, when the send is no
 * longer what the step begins with. Throws for a step that no send takes.
 */
export async function takeStep(tx: Transaction, step: Step): Promise<boolean> {
  const { sendId, from, fence, to, reason, actor = 'worker', dueInMs, set = {} } = step;
  const wrong = from.find((state) => !nextStates[state].includes(to));
  if (wrong !== undefined) throw new Error(`no send goes from ${wrong} to ${to}`);
  const values: unknown[] = [sendId, from, fence ?? null, to, reason ?? null, actor];
  const sets = ['state = $4', 'reason = $5'];
  for (const [column, value] of Object.entries(set)) sets.push(`${column} = $${values.push(value)}`);
  if (dueInMs !== undefined) {
    const after = `clock_timestamp() + $${values.push(dueInMs)} * interval '1 ms'`;
    // A service can ask for a pause of years, and what waits that long would have no end.
    const latest = to === 'PLANNED' ? `expires_at + interval '1 second'` : `'infinity'`;
    sets.push(`due_at = least(${after}, ${latest})`, `rung_at = '-infinity'`);
  }
  const moment = momentOf[to];
  if (moment !== undefined) sets.push(`${moment} = clock_timestamp()`);
  const rows = await hotQuery(
    tx,
    `with held as (
       select send_id, state as was from ops.sends
       where send_id = $1 and state = any($2) and ($3::integer is null or fence = $3) for update
     ), moved as (
       update ops.sends s set ${sets.join(', ')} from held where s.send_id = held.send_id returning s.send_id, held.was, s.fence
     )
     insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor)
     select send_id, was, $4, fence, $5, $6 from moved returning 1`,
    values,
  );
  return rows.length > 0;
}
