import { type Database, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import { refreshFacts } from '../warehouse/write-calls.ts';
import { analyzeGrownTables } from './analyze.ts';
import { NotRolledUp, type SetAside } from './rollups/set-aside.ts';
import { type Day, selectDays } from './rollups/steps.ts';
import { drainRollups, workDay, workThreads } from './rollups.ts';

export interface RebuildOptions {
  /** Default: all rows. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** Called after each day, with the completed fraction. */
  readonly onDay?: (share: number, day: string) => void;
}

export interface Rebuilt {
  readonly days: number;
  readonly conversations: number;
}

const callsAtOnce = 500;

/**
 * Computes rollups again from the facts, in the same steps as a drain, so ingest and drains continue in between.
 * Required when definitions they depend on change; `data_quality` asks for it again if it was interrupted. Safe to
 * repeat. Throws {@link NotRolledUp} at the end if some changes were set aside.
 */
export async function rebuildRollups(db: Database, { from, to, onDay }: RebuildOptions = {}): Promise<Rebuilt> {
  const [started] = await query<{ meaning: string }>(db, 'select ops.rollup_meaning() as meaning', []);
  const isWhole = from === undefined && to === undefined;
  if (isWhole) await query(db, 'update ops.rollup_state set meaning = null', []);
  const aside: SetAside[] = [];
  const conversations = await rebuildConversations(db, aside, from, to);
  const days = await daysWithin(db, from, to);
  // Newest first. When everything is rebuilt, the earlier days that a day affects are still to come.
  for (const [at, day] of days.entries()) {
    await refreshCalls(db, day);
    aside.push(...(await workDay(db, day, { isAlone: isWhole })));
    onDay?.((at + 1) / days.length, day.date);
  }
  if (isWhole) {
    await query(db, 'update ops.rollup_state set meaning = $1, rebuilt_at = now()', [started?.meaning]);
  }
  await drainRollups(db);
  await analyzeGrownTables(db);
  // Somebody waits for a rebuild, so report all failures, even those a drain has reported before.
  if (aside.length > 0) throw new NotRolledUp(aside.map(({ what }) => what));
  return { days: days.length, conversations };
}

/**
 * Marks everything that is held, since definitions changed on which all of it depends: drains count it again, the
 * newest days first. Resolves to whether anything is held.
 */
export async function markEverything(tx: Transaction): Promise<boolean> {
  const days = await daysWithin(tx);
  await query(
    tx,
    sql`
      insert into ops.rollup_markers (kind, bucket_at)
      select kind, quarter from ${relation('d', days, { from_at: ['timestamptz', ({ from }) => from], to_at: ['timestamptz', ({ to }) => to] })}
        cross join generate_series(ops.quarter_of(from_at), to_at - interval '1 microsecond', interval '15 minutes') quarter
        cross join unnest(array['calls', 'texts']) kind`,
  );
  await query(
    tx,
    sql`
      insert into ops.rollup_markers (kind, conversation_id)
      select 'thread', conversation_id from warehouse.sms_conversations
      union select 'thread', conversation_id from rollups.sms_turns`,
  );
  return days.length > 0;
}

/** Recomputes what follows from a day's calls and their legs, with the same code as when they were mirrored. */
async function refreshCalls(db: Database, { from, to }: Day): Promise<void> {
  const calls = await query<{ id: string }>(
    db,
    'select call_id as id from warehouse.calls where started_at >= $1 and started_at < $2 order by 1',
    [from, to],
  );
  for (let at = 0; at < calls.length; at += callsAtOnce) {
    const ids = calls.slice(at, at + callsAtOnce).map(({ id }) => id);
    await inTransaction(db, (tx) => refreshFacts(tx, ids));
  }
}

/** The days with a fact or a rollup. After a change of the time zone, they can differ. */
async function daysWithin(db: Database | Transaction, from?: Date, to?: Date): Promise<Day[]> {
  const rolledUp = [
    'call_rollup',
    'call_agent_rollup',
    'queue_visits',
    'missed_call_returns',
    'action_items',
    'sms_day_rollup',
  ];
  const held = (table: string, column: string) =>
    `select distinct (x.${column} at time zone p.time_zone)::date as day from ${table} x cross join reporting.params p
     where x.${column} >= coalesce($1::timestamptz, '-infinity') and x.${column} < coalesce($2::timestamptz, 'infinity')`;
  const counted = rolledUp.map(
    (table) => `select local_date from rollups.${table}
      where ($1::timestamptz is null or local_date >= reporting.local_day($1))
        and ($2::timestamptz is null or local_date <= reporting.local_day($2::timestamptz - interval '1 microsecond'))`,
  );
  const facts = [held('warehouse.calls', 'started_at'), held('warehouse.sms_messages', 'sent_at')];
  return query<Day>(db, selectDays([...facts, ...counted].join('\nunion\n')), [from, to]);
}

async function rebuildConversations(db: Database, aside: SetAside[], from?: Date, to?: Date): Promise<number> {
  const isWhole = from === undefined && to === undefined;
  const rows = await query(
    db,
    sql<{ conversation_id: string }>`
      select conversation_id from warehouse.sms_conversations where ${isWhole}
      union select conversation_id from rollups.sms_turns where ${isWhole}
      union select conversation_id from warehouse.sms_messages
      where not ${isWhole} and sent_at >= coalesce(${from ?? null}::timestamptz, '-infinity')
        and sent_at < coalesce(${to ?? null}::timestamptz, 'infinity')`,
  );
  aside.push(
    ...(await workThreads(
      db,
      rows.map((row) => row.conversation_id),
    )),
  );
  return rows.length;
}
