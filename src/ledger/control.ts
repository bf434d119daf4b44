import { type Database, inTransaction, query, type Transaction } from '../warehouse/database.ts';

/** The kill switch, as it stands. */
export interface Control {
  readonly isPaused: boolean;
  readonly reason: string | null;
  readonly by: 'operator' | 'ledger' | null;
  readonly since: Date;
  /** Micro-dollars: the most that a segment ever cost. */
  readonly highestUnitMicros: number;
}

const columns = `is_paused as "isPaused", pause_reason as reason, paused_by as by, changed_at as since,
  highest_unit_micros::float8 as "highestUnitMicros"`;

/** `hold` makes whoever wants to pause wait for the end of the transaction: nothing leaves after the switch. */
export async function readControl(db: Database | Transaction, hold: 'none' | 'share' = 'none'): Promise<Control> {
  const lock = hold === 'share' ? 'for share' : '';
  const [control] = await query<Control>(db, `select ${columns} from ops.send_control ${lock}`, []);
  if (!control) throw new Error('ops.send_control has lost its row: apply the migrations again');
  return control;
}

/** Stops all sends: when this resolves, no other leaves. Those whose request is under way end by themselves. */
export async function pauseSends(
  db: Database | Transaction,
  reason: string,
  by: 'operator' | 'ledger' = 'operator',
): Promise<void> {
  await query(
    db,
    `update ops.send_control set is_paused = true, pause_reason = $1, paused_by = $2, changed_at = clock_timestamp()`,
    [reason, by],
  );
}

/** Lets sends out again; what is due goes at once, unless it has become too old. */
export function resumeSends(db: Database): Promise<void> {
  return inTransaction(db, resume);
}

async function resume(tx: Transaction): Promise<void> {
  await query(
    tx,
    `update ops.send_control set is_paused = false, pause_reason = null, paused_by = null, changed_at = clock_timestamp()`,
    [],
  );
  await query(
    tx,
    `update ops.sends set rung_at = '-infinity' where state in ('PLANNED', 'HELD') and due_at <= now()`,
    [],
  );
}

/**
 * Ends a pause that the ledger made, once the outcome of every send that led to it is known. True when this did it. A pause by
 * a person is theirs to end.
 */
export async function endOwnPause(db: Database): Promise<boolean> {
  if ((await readControl(db)).by !== 'ledger') return false;
  return inTransaction(db, async (tx) => {
    await holdControl(tx);
    const ended = await query(
      tx,
      `select from ops.send_control c where is_paused and paused_by = 'ledger' and not exists (
         select from ops.sends s where ${isUnclear} and unknown_at > c.changed_at - interval '${withinMinutes} minutes')`,
      [],
    );
    if (ended.length === 0) return false;
    await resume(tx);
    return true;
  });
}

/** Keeps the highest price of a segment. */
export async function noteUnitPrice(tx: Transaction, micros: number): Promise<void> {
  await query(tx, `update ops.send_control set highest_unit_micros = $1 where highest_unit_micros < $1`, [micros]);
}

/** The user in whose name sends go out, as the service last showed it; null when it showed none. */
export async function readSender(tx: Transaction): Promise<string | null> {
  const [row] = await query<{ sender_id: string | null }>(tx, 'select sender_id from ops.send_control', []);
  return row?.sender_id ?? null;
}

/** Keeps in whose name a message stands that a send became by the service's own answer: nothing else says it. */
export async function noteSender(db: Database, sendId: string): Promise<void> {
  await query(
    db,
    `update ops.send_control k set sender_id = m.sent_by
     from ops.sends s join warehouse.sms_messages m on m.line = s.line and m.number = s.number and m.message_id = s.message_id
     where s.send_id = $1 and s.linked_at is not null and not s.is_reconciled and k.sender_id is distinct from m.sent_by`,
    [sendId],
  );
}

/** So many unknown outcomes within so long stop everything: the way to the service is not to be trusted. */
const mostUnknown = 3;
const withinMinutes = 10;

/** One that was found in its thread tells of no fault that lasts. */
const isUnclear = `s.state in ('UNKNOWN', 'NEEDS_HUMAN')`;

/** Locks the switch. To be called before a send is locked, by whoever makes its outcome unknown. */
export async function holdControl(tx: Transaction): Promise<void> {
  await query(tx, 'select from ops.send_control for update', []);
}

/** Pauses when there are too many unknown outcomes. True when this did it; the caller holds the switch. */
export async function pauseOnUnknowns(tx: Transaction): Promise<boolean> {
  const [row] = await query<{ count: number; is_paused: boolean }>(
    tx,
    `select c.is_paused, (select count(*)::integer from ops.sends s
       where ${isUnclear} and unknown_at > greatest(clock_timestamp() - interval '${withinMinutes} minutes',
         case when c.is_paused then '-infinity' else c.changed_at end)) as count
     from ops.send_control c`,
    [],
  );
  if (!row || row.is_paused || row.count < mostUnknown) return false;
  await pauseSends(tx, `${row.count} sends within ${withinMinutes} minutes had an unknown outcome`, 'ledger');
  return true;
}
