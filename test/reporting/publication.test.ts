import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres } from '../../src/local/postgres.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { createLog } from '../../src/shared/log.ts';
import { migrated } from '../world/database.ts';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';

// A server of its own: the level of the WAL holds for a whole server.
const folder = await mkdtemp(join(tmpdir(), 'trunkline-publication-'));
const postgres = await startPostgres({
  dataDir: folder,
  log: createLog('silent'),
  settings: { fsync: 'off', wal_level: 'logical' },
});
await migrated(postgres.url);
const facts = await factsDatabase(postgres.url);
const { send, change } = ruleFacts(facts);
const superuser = new Client({
  connectionString: Object.assign(new URL(postgres.superuserUrl), { pathname: new URL(postgres.url).pathname }).href,
});
await superuser.connect();
afterAll(async () => {
  await superuser.end();
  await facts[Symbol.asyncDispose]();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

const transcript = {
  is_action_required: true,
};

async function addDay(day: string, nth: number): Promise<void> {
  const callId = `${Date.parse(`${day}T10:00:00Z`) / 1_000}.${nth}`;
  await facts.call({ call_id: callId, started_at: `${day}T10:00:00Z` });
  await facts.call({ call_id: `${callId}1`, started_at: `${day}T11:00:00Z`, status: 'missed', talk_seconds: 0 });
  await facts.insert('warehouse.transcripts', { ...transcript, transcript_id: nth, call_id: callId });
  await facts.insert('warehouse.transcript_kpis', { transcript_id: nth, ordinal: 1, kpi_name: 'Tone', kpi_value: 4 });
  await facts.thread(nth, [
    [`${day}T12:00:00Z`, 'in'],
    [`${day}T12:01:00Z`, 'out', { delivery_status: 'failed', delivery_error: 'no' }],
  ]);
  await send('greet', `${day}T13:00:00Z`, nth);
}

const rolledUp = ['call_rollup', 'action_items', 'sms_day_rollup', 'sms_cost_rollup'];
const counts = () =>
  Promise.all(
    rolledUp.map(async (table) => [
      table,
      await facts.value(`select count(distinct local_date)::integer from rollups.${table}`),
    ]),
  );
const all = (count: number) => rolledUp.map((table) => [table, count]);

beforeAll(async () => {
  await addDay('2026-03-02', 1);
  await facts.drain();
  await drainOutcomes(facts.db);
  await superuser.query('create publication everything for all tables');
});

test('the rollups move while a publication of all tables is in force', async () => {
  expect(await facts.value(`select current_setting('wal_level')`)).toBe('logical');
  expect(await counts()).toEqual(all(1));
  await addDay('2026-03-03', 2);
  await facts.query(`update warehouse.calls set status = 'missed', content_hash = 'changed'`);
  await change(`update ops.sends set settled_micros = 20000`);
  await facts.drain();
  await drainOutcomes(facts.db);
  expect(await counts()).toEqual(all(2));
  expect(await facts.value('select sum(answered_count)::integer from reporting.call_hourly')).toBe(0);
  await rebuildRollups(facts.db);
  expect(await counts()).toEqual(all(2));
});

test('each row of each table can be updated and deleted', async () => {
  const tables = await facts.query<{ name: string }>(`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'warehouse', 'secrets', 'rollups', 'reporting') and c.relkind in ('r', 'p') order by 1`);
  expect(tables.length).toBeGreaterThan(60);
  await superuser.query('begin; set local session_replication_role = replica');
  for (const { name } of tables) await superuser.query(`delete from ${name}`);
  await superuser.query('rollback');
});
