import { type Database, inTransaction, query } from '../warehouse/database.ts';
import { release, spend } from './budgets.ts';
import { type Control, readControl } from './control.ts';
import { type AccountLimits, accountLimits } from './limits.ts';
import { findSend, lockSend, type Send, type SendRow, sendColumns, sendOf } from './send.ts';
import { type SendState, states } from './states.ts';
import { takeStep } from './transitions.ts';

/** One change of state. */
export interface SendEvent {
  readonly at: Date;
  readonly from: SendState | null;
  readonly to: SendState;
  readonly reason: string | null;
  readonly actor: 'rule' | 'worker' | 'operator';
}

/** The newest sends, of one state or of all. */
export async function listSends(db: Database, state: SendState | undefined, limit: number): Promise<Send[]> {
  const rows = await query<SendRow>(
    db,
    `select ${sendColumns} from ops.sends s where $1::text is null or s.state = $1 order by s.planned_at desc limit $2`,
    [state ?? null, limit],
  );
  return rows.map(sendOf);
}

/** One send with its history; undefined when there is none. */
export async function readSend(
  db: Database,
  sendId: string,
): Promise<{ send: Send; events: readonly SendEvent[] } | undefined> {
  const send = await findSend(db, sendId);
  if (!send) return undefined;
  const events = await query<SendEvent>(
    db,
    `select observed_at as at, from_state as from, to_state as to, reason, actor from ops.send_events
     where send_id = $1 order by event_id`,
    [sendId],
  );
  return { send, events };
}

/**
 * The operator's word on a send whose outcome nobody could find out: `SENT` keeps its budget as spent, `NOT_SENT` gives it
 * back. Also on one that is still looked for (UNKNOWN), where it `isInsisted`. False when it does not need one. Nothing is
 * sent again: for that, a rule plans anew.
 */
export function settleByHand(
  db: Database,
  sendId: string,
  to: 'SENT' | 'NOT_SENT',
  { isInsisted = false } = {},
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (!send || !(send.state === 'NEEDS_HUMAN' || (isInsisted && send.state === 'UNKNOWN'))) return false;
    const set = to === 'NOT_SENT' ? { reserved_micros: 0 } : {};
    await takeStep(tx, { sendId, from: [send.state], to, reason: 'settled by hand', actor: 'operator', set });
    if (to === 'SENT') await spend(tx, send, send.reservedMicros);
    else await release(tx, send);
    return true;
  });
}

/** The ledger at a glance. Amounts in micro-dollars. */
export interface LedgerSummary {
  readonly control: Control;
  /** Sends of the last day, and all that are open, by state. */
  readonly counts: Readonly<Partial<Record<SendState, number>>>;
  readonly today: { readonly spent: number; readonly reserved: number; readonly sends: number };
  /** What a day may cost, as the rules that are in force set it. */
  readonly dailyMicros: number;
}

export async function summarizeSends(db: Database): Promise<LedgerSummary> {
  const counted = await query<{ state: SendState; count: number }>(
    db,
    `select state, count(*)::integer as count from ops.sends
     where planned_at > now() - interval '1 day'
       or state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN')
     group by state`,
    [],
  );
  const [today] = await query<LedgerSummary['today']>(
    db,
    `select spent_micros::float8 as spent, reserved_micros::float8 as reserved, sends_count as sends
     from ops.send_budgets where scope = 'account' and budget_date = (now() at time zone 'UTC')::date`,
    [],
  );
  const [inForce] = await query<{ limits: Partial<AccountLimits> }>(db, 'select limits from ops.rules_loaded', []);
  const byState = new Map(counted.map(({ state, count }) => [state, count]));
  return {
    control: await readControl(db),
    counts: Object.fromEntries(states.flatMap((state) => (byState.has(state) ? [[state, byState.get(state)]] : []))),
    today: today ?? { spent: 0, reserved: 0, sends: 0 },
    dailyMicros: accountLimits(inForce?.limits).dailyMicros,
  };
}
