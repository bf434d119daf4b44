import { type Database, query, retryDeadlock, type Transaction } from '../warehouse/database.ts';
import { rebuildCallDay } from './rollups/call-days.ts';
import { type Day, daysOf } from './rollups/day.ts';
import { rebuildIntervals } from './rollups/intervals.ts';
import { rebuildQualityDay } from './rollups/quality.ts';
import { rebuildReturnsWithin } from './rollups/returns.ts';
import { rebuildResponseDay, rebuildTextDay } from './rollups/text-days.ts';
import { rebuildTurns } from './rollups/turns.ts';
import { drainRollups, holdDrains } from './rollups.ts';

export interface RebuildOptions {
  /** Default: everything that is held. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** Called after each day, with the share that is done. */
  readonly onDay?: (share: number, day: string) => void;
}

export interface Rebuilt {
  readonly days: number;
  readonly conversations: number;
}

const conversationsAtOnce = 500;

/**
 * Computes rollups anew from the facts, one local day or some conversations a transaction, so that ingest and drains go on
 * in between. Needed after a change of the definitions that are worked into them; see `data_quality`. Safe to repeat.
 */
export async function rebuildRollups(db: Database, { from, to, onDay }: RebuildOptions = {}): Promise<Rebuilt> {
  const [started] = await query<{ meaning: string }>(db, 'select ops.rollup_meaning() as meaning', []);
  const isWhole = from === undefined && to === undefined;
  const conversations = await rebuildConversations(db, from, to);
  const days = await daysWithin(db, from, to);
  for (const [at, day] of days.entries()) {
    await inTurn(db, (tx) => rebuildDay(tx, day));
    onDay?.((at + 1) / days.length, day.date);
  }
  if (isWhole) {
    await query(db, 'update ops.rollup_state set meaning = $1, rebuilt_at = now()', [started?.meaning]);
  }
  await drainRollups(db);
  return { days: days.length, conversations };
}

async function rebuildDay(tx: Transaction, day: Day): Promise<void> {
  const quarters = await query<{ bucket_at: Date }>(
    tx,
    `select bucket_at from generate_series(ops.quarter_of($1), $2::timestamptz - interval '1 second', interval '15 minutes') bucket_at`,
    [day.from, day.to],
  );
  await rebuildIntervals(
    tx,
    quarters.map((row) => row.bucket_at),
  );
  await rebuildCallDay(tx, day);
  await rebuildQualityDay(tx, day);
  await rebuildReturnsWithin(tx, day);
  await rebuildTextDay(tx, day);
  await rebuildResponseDay(tx, day);
}

/** The days on which there is a fact or a rollup: in a changed time zone these can differ. */
async function daysWithin(db: Database, from?: Date, to?: Date): Promise<Day[]> {
  const rolledUp = [
    'call_interval_rollup',
    'call_endpoint_rollup',
    'call_agent_rollup',
    'missed_call_returns',
    'quality_rollup',
    'sentiment_rollup',
    'action_items',
    'sms_day_rollup',
    'sms_failure_rollup',
    'sms_response_rollup',
  ];
  return query<Day>(
    db,
    `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
     from (
       select (c.started_at at time zone p.time_zone)::date as day from warehouse.calls c cross join reporting.params p
       where c.started_at is not null and ($1::timestamptz is null or c.started_at >= $1) and ($2::timestamptz is null or c.started_at < $2)
       union
       select (m.sent_at at time zone p.time_zone)::date from warehouse.sms_messages m cross join reporting.params p
       where m.sent_at is not null and ($1::timestamptz is null or m.sent_at >= $1) and ($2::timestamptz is null or m.sent_at < $2)
       ${rolledUp
         .map(
           (table) => `union select local_date from reporting.${table}
             where ($1::timestamptz is null or local_date >= reporting.local_day($1))
               and ($2::timestamptz is null or local_date <= reporting.local_day($2::timestamptz - interval '1 microsecond'))`,
         )
         .join('\n')}
     ) days order by day`,
    [from, to],
  );
}

async function rebuildConversations(db: Database, from?: Date, to?: Date): Promise<number> {
  const isWhole = from === undefined && to === undefined;
  let last = '0';
  let count = 0;
  for (;;) {
    const ids = await inTurn(db, async (tx) => {
      const rows = await query<{ conversation_id: string }>(
        tx,
        isWhole
          ? `select conversation_id from (
               (select conversation_id from warehouse.sms_conversations where conversation_id > $1 order by 1 limit $2)
               union
               (select conversation_id from reporting.sms_turns where conversation_id > $1 order by 1 limit $2)
             ) each order by 1 limit $2`
          : `select distinct conversation_id from warehouse.sms_messages
             where conversation_id > $1 and ($3::timestamptz is null or sent_at >= $3) and ($4::timestamptz is null or sent_at < $4)
             order by 1 limit $2`,
        isWhole ? [last, conversationsAtOnce] : [last, conversationsAtOnce, from, to],
      );
      const found = rows.map((row) => row.conversation_id);
      const began = await rebuildTurns(tx, found);
      // A whole rebuild comes to every day afterwards.
      if (!isWhole) for (const day of await daysOf(tx, began)) await rebuildResponseDay(tx, day);
      return found;
    });
    count += ids.length;
    const next = ids.at(-1);
    if (next === undefined) return count;
    last = next;
  }
}

function inTurn<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return retryDeadlock(() =>
    db.transaction().execute(async (tx) => {
      await holdDrains(tx);
      return work(tx);
    }),
  );
}
