import type { PoolClient } from 'pg';
import { createDatabase, inTransaction, query } from '../../src/db/database.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { createLog } from '../../src/shared/log.ts';
import { recordFollowing } from '../../src/warehouse/what-follows.ts';
import { refreshFacts } from '../../src/warehouse/write-calls.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { spreadOf } from './spread.ts';

const calls = 20_000;
const goalMs = 1_000;

/** Missed calls of a day that become known at once, and what working them into the reports takes: in all, and its longest statement. */
export async function missedBurst(url: string): Promise<Finding[]> {
  await using database = createDatabase({ url, log: createLog('warn'), maxConnections: 2, name: 'bench' });
  const took: number[] = [];
  database.pool.on('connect', (client) => timeStatements(client, took));
  await query(database.db, inventCalls, []);
  await query(database.db, inventLegs, []);
  const invented = await query<{ id: string }>(database.db, 'select call_id as id from warehouse.calls', []);
  await inTransaction(database.db, async (tx) => {
    const moved = await refreshFacts(
      tx,
      invented.map(({ id }) => id),
    );
    await recordFollowing(tx, { calls: moved });
  });
  took.length = 0;
  const began = performance.now();
  await drainRollups(database.db);
  const seconds = (performance.now() - began) / 1_000;
  const longest = spreadOf([Math.max(...took)]);
  return [
    {
      bench: 'reporting',
      what: `${calls} missed calls of a day at once: longest of ${took.length} statements`,
      subject: quantity('took', 'ms', longest),
      goal: atMost(longest, goalMs, ' ms'),
      limits: `all took ${seconds.toFixed(1)} s`,
    },
  ];
}

function timeStatements(client: PoolClient, took: number[]): void {
  const run = client.query.bind(client) as (...statement: unknown[]) => unknown;
  const timed = (...statement: unknown[]) => {
    const began = performance.now();
    const result = run(...statement);
    const ended = () => void took.push(performance.now() - began);
    if (result instanceof Promise) result.then(ended, ended);
    return result;
  };
  client.query = timed as typeof client.query;
}

const provenance = 'content_hash, source, fetch_seq, fetched_at';

const inventCalls = `
  insert into warehouse.calls (call_id, started_at, ended_at, direction, status, status_code, caller_type, called_type, called_name,
    called_number, external_number, account_number, duration_seconds, talk_seconds, is_abandoned, is_internal, legs_fetched_at, leg_count, ${provenance})
  select extract(epoch from at)::bigint || '.' || n, at, at + interval '24 seconds', 'inbound', 'missed', -1, 'external',
    case when n % 3 = 0 then 'queue' else 'user' end, 'Front desk', case when n % 3 = 0 then 6000 + n % 8 else 100 + n % 300 end,
    17185000000 + n, 18455559000 + n % 40, 24, 0, true, false, now(), 2, md5(n::text), 'invented', 1, now()
  from generate_series(1, ${calls}) n
    cross join lateral (select date_trunc('day', now()) - interval '18 hours' + n * interval '13 hours' / ${calls} as at) began`;

const inventLegs = `
  insert into warehouse.call_legs (call_id, leg_key, ordinal, started_at, direction, status, caller_type, called_type, called_number,
    duration_seconds, talk_seconds, ${provenance})
  select call_id, call_id || n, n, started_at, 'inbound', 'noanswer', 'external', case when n = 1 then called_type else 'user' end,
    called_number, 12, 0, 'invented', 'invented', 1, now()
  from warehouse.calls cross join generate_series(1, 2) n`;
