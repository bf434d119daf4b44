import { afterAll, beforeAll, expect, test } from 'vitest';
import { query as ask, inTransaction } from '../../src/db/database.ts';
import { auditQuality } from '../../src/reporting/audits.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const tables = ['warehouse.calls', 'rollups.missed_call_returns'];

/** How many rows the planner takes each table to have; -1 before anybody looked, and by no other means than an analysis. */
const known = async () => {
  const rows = await query<{ rows: number }>(
    'select c.reltuples::integer as rows from unnest($1::text[]) with ordinality t (name, nth) join pg_class c on c.oid = name::regclass order by nth',
    tables,
  );
  return rows.map((row) => row.rows);
};
const areDescribed = () =>
  value(
    `select count(distinct tablename)::integer from pg_stats where schemaname || '.' || tablename = any($1)`,
    tables,
  );
const load = (from: number, count: number) =>
  query(
    `insert into warehouse.calls (call_id, started_at, direction, status, is_internal, external_number, account_number,
       content_hash, source, fetch_seq, fetched_at)
     select '17000' || n || '.1', timestamptz '2026-03-02 00:00Z' + make_interval(secs => n % 80000), 'inbound', 'missed', false,
       '1555' || (1000000 + n), '15559990000', '', 'test', 1, now() from generate_series($1::integer, $2::integer) n`,
    from,
    from + count - 1,
  );

beforeAll(async () => {
  for (const table of tables) await query(`alter table ${table} set (autovacuum_enabled = off)`);
});

const audit = () => auditQuality(facts.db, 0);

test('a drain after a bulk load stops for no analysis; the audit tells the planner of it', async () => {
  await load(0, 3_000);
  await facts.drain();
  expect([await known(), await areDescribed()]).toEqual([[-1, -1], 0]);
  await audit();
  expect([await known(), await areDescribed()]).toEqual([[3_000, 3_000], 2]);
});

test('an audit after a few calls looks at no table again', async () => {
  const before = await known();
  await load(3_000, 3);
  await facts.drain();
  await audit();
  expect(await value('select count(*)::integer from rollups.missed_call_returns')).toBe(3_003);
  expect(await known()).toEqual(before);
});

test('nobody waits for a table that is being vacuumed, and the next audit comes to it', async () => {
  await load(4_000, 3_000);
  await facts.drain();
  await inTransaction(facts.db, async (tx) => {
    await ask(tx, 'lock table warehouse.calls in share update exclusive mode', []);
    await audit();
  });
  expect(await known()).toEqual([3_000, 6_003]);
  await audit();
  expect(await known()).toEqual([6_003, 6_003]);
});

test('a rebuild analyzes too', async () => {
  await query('truncate rollups.missed_call_returns');
  await query('analyze rollups.missed_call_returns');
  await rebuildRollups(facts.db);
  expect(await known()).toEqual([6_003, 6_003]);
});
