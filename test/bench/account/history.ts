import { Client } from 'pg';
import { createDatabase, type Database, inTransaction, query } from '../../../src/db/database.ts';
import { analyzeGrownTables } from '../../../src/reporting/analyze.ts';
import { rebuildRollups } from '../../../src/reporting/rebuild.ts';
import { createLog } from '../../../src/shared/log.ts';
import { refreshFacts } from '../../../src/warehouse/write-calls.ts';
import { type HistorySize, layOutCalendar, wholeDays } from './calendar.ts';
import { bodiesOfDay, callsOfDay, callsWithLegs, kpisOfDay, legsOfDay, transcriptsOfDay } from './calls.ts';
import { inventDirectory } from './directory.ts';
import { conversations, sends, textsOfDay } from './texts.ts';

/** How many clients load at the same time. */
const lanes = 2;

/** Kept while loading: calls are appended in its order, and days are looked up by it. */
const keptIndexes = ['calls_started_at'];

/**
 * Fills a migrated database with the history of a busy account that ends now, the last 120 days of it read whole with legs
 * and transcripts, and works it into the rollups. Loads without secondary indexes, as a restore does.
 */
export async function inventHistory(url: string, size: HistorySize, progress: (text: string) => void): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const clients: Client[] = [];
  for (let lane = 0; lane < lanes; lane += 1) {
    const client = new Client({ connectionString: url });
    await client.connect();
    stack.defer(() => client.end());
    await client.query(`set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '128MB'`);
    clients.push(client);
  }
  const [first] = clients;
  if (!first) return;
  const days = await layOutCalendar(first, size);
  await inventDirectory(first);
  const indexes = await dropIndexes(first);
  const whole = days.slice(-wholeDays);
  const conversationCount = Math.ceil(size.messages / 30);
  await inLanes(clients, days, counted('days of calls and texts', days.length, progress), async (client, day) => {
    const date = day.toISOString().slice(0, 10);
    await client.query(callsOfDay, [date, whole.includes(day)]);
    await client.query(textsOfDay, [date, conversationCount]);
    if (!whole.includes(day)) return;
    for (const text of [legsOfDay, transcriptsOfDay, bodiesOfDay, kpisOfDay]) await client.query(text, [date]);
  });
  await first.query(conversations);
  await first.query(sends);
  await first.query(coverage);
  await inLanes(clients, indexes, counted('indexes', indexes.length, progress), (client, text) => client.query(text));
  await first.query('vacuum analyze');
  await using database = createDatabase({ url, log: createLog('warn'), maxConnections: lanes, name: 'bench' });
  const { db } = database;
  await inLanes(clients, whole, counted('days attributed', whole.length, progress), (_, day) => attribute(db, day));
  await first.query('analyze');
  await rebuildRollups(db, { onDay: counted('days rolled up', days.length, progress) });
  await analyzeGrownTables(db);
  await first.query('vacuum analyze');
}

async function attribute(db: Database, day: Date): Promise<void> {
  const calls = await query<{ id: string }>(db, callsWithLegs, [day.toISOString().slice(0, 10)]);
  await inTransaction(db, (tx) =>
    refreshFacts(
      tx,
      calls.map(({ id }) => id),
    ),
  );
}

/** Tells now and then how much of something is done. */
function counted(things: string, total: number, progress: (text: string) => void): () => void {
  let done = 0;
  return () => {
    done += 1;
    if (done % 25 === 0 || done === total) progress(`${done} of ${total} ${things}`);
  };
}

/** Drops the secondary indexes of the large tables and returns the statements that make them again. */
async function dropIndexes(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select format('%I.%I', schemaname, indexname) as name, indexdef as definition from pg_indexes
     where schemaname = 'warehouse' and not (indexname = any($1))
       and tablename in ('calls', 'call_attributions', 'sms_messages', 'transcript_bodies', 'transcript_kpis')
       and not exists (select from pg_constraint c where c.conindid = format('%I.%I', schemaname, indexname)::regclass)`,
    [keptIndexes],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

async function inLanes<T>(
  clients: readonly Client[],
  items: readonly T[],
  onDone: () => void,
  work: (client: Client, item: T) => Promise<unknown>,
): Promise<void> {
  const left = [...items];
  await Promise.all(
    clients.map(async (client) => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        await work(client, item);
        onDone();
      }
    }),
  );
}

const coverage = `
insert into ops.coverage (stream, from_at, to_at, state, reported_count, held_count, unannounced_count, is_watched, due_at, checked_at, proven_at)
select 'calls', hour, hour + interval '1 hour', 'proven', calls, calls, 0, true, 'infinity', now(), now()
from (
  select date_trunc('hour', bucket_at) as hour, sum(last_call - first_call + 1)::integer as calls from bench.quarters group by 1
) hours`;
