import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSlots } from '../../src/db/slots.ts';
import { startPostgres } from '../../src/local/postgres.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { type CdcRole, grantCdcRole } from '../../src/reporting/cdc-role.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { createLog } from '../../src/shared/log.ts';
import { caughtUp, run, subscribe, tablesThatDiffer, viewsThatDiffer } from '../world/copy.ts';
import { migrated } from '../world/database.ts';
import { factsDatabase } from './facts.ts';
import { numberOf, ruleFacts } from './rule-facts.ts';

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

describe('change data capture', () => {
  const publisher = new URL(postgres.superuserUrl);
  publisher.pathname = new URL(postgres.url).pathname;
  const copy = Object.assign(new URL(publisher), { pathname: '/copy' });
  const published = async () =>
    (
      await facts.query<{ name: string; columns: string[] }>(
        `select schemaname || '.' || tablename as name, attnames::text[] as columns from pg_publication_tables where pubname = 'trunkline' order by 1`,
      )
    ).map(({ name, columns }) => `${name}: ${columns.join(', ')}`);
  let role: CdcRole;

  beforeAll(async () => {
    role = await grantCdcRole(facts.db, 'replica');
    await superuser.query(`alter role replica password 'replica' replication`);
  });

  test('publishes what it returns, and tells whoever may not make a role replicate what to run', async () => {
    expect(role).toMatchObject({
      isCreated: true,
      isTextShown: false,
      forAdministrator: ['alter role replica replication'],
    });
    expect(Object.entries(role.tables).map(([name, columns]) => `${name}: ${columns.join(', ')}`)).toEqual(
      await published(),
    );
  });

  test('publishes texts and transcripts only when told, and takes them back', async () => {
    const words = ['warehouse.sms_messages: body', 'warehouse.transcripts: csat_note', 'ops.sends: body'];
    const all = async () => {
      const { tables } = await grantCdcRole(facts.db, 'replica', { isTextShown: true });
      return Object.entries(tables).flatMap(([name, columns]) => columns.map((column) => `${name}: ${column}`));
    };
    expect(await all()).toEqual(expect.arrayContaining([...words, 'warehouse.transcript_bodies: full_text']));
    expect(await grantCdcRole(facts.db, 'replica')).toEqual({ ...role, isCreated: false, forAdministrator: undefined });
    expect(
      await facts.value(`select has_column_privilege('replica', 'warehouse.sms_messages', 'body', 'select')`),
    ).toBe(false);
  });

  test('the role reads what is published, and nothing else', async () => {
    const readable = await facts.query<{ name: string; columns: string[] }>(
      `select n.nspname || '.' || c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
       where n.nspname !~ '^(pg_|information_schema)' and c.relkind in ('r', 'v', 'm', 'p', 'f') and a.attnum > 0 and not a.attisdropped
         and has_column_privilege('replica', c.oid, a.attnum, 'select') group by 1 order by 1`,
    );
    expect(readable.map(({ name, columns }) => `${name}: ${columns.join(', ')}`)).toEqual(await published());
  });

  // Else an update fails at the publisher, or a row at the copy.
  test('publishes every column of a primary key or a unique index, and every one that needs a value', async () => {
    const needed = await facts.query<{ name: string }>(
      `with tables as (
         select format('%I.%I', schemaname, tablename)::regclass as id, attnames from pg_publication_tables where pubname = 'trunkline'
       )
       select t.id || '.' || a.attname as name from tables t join pg_attribute a on a.attrelid = t.id
       where a.attnum > 0 and not a.attisdropped and a.attname <> all(t.attnames) and (
         a.attnotnull and not a.atthasdef and a.attidentity = '' or exists (
           select from pg_index i join pg_depend d on d.objid = i.indexrelid and d.refobjid = t.id and d.refobjsubid = a.attnum
           where i.indrelid = t.id and i.indisunique))
       union all
       select t.id || ' has no primary key' from tables t where not exists (select from pg_index i where i.indrelid = t.id and i.indisprimary)`,
    );
    expect(needed).toEqual([]);
  });

  // data_quality speaks of the daemon's own work, and ops.opt_out_changes is a view over published tables.
  test('publishes every column of the daemon that a view needs', async () => {
    expect(
      await facts.query(
        `select distinct d.refobjid::regclass || '.' || a.attname as name
         from pg_rewrite r join pg_class v on v.oid = r.ev_class join pg_depend d on d.objid = r.oid
           join pg_class t on t.oid = d.refobjid join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
         where d.refclassid = 'pg_class'::regclass and t.relnamespace = 'ops'::regnamespace and t.relkind = 'r'
           and v.relname not in ('data_quality', 'opt_outs_waiting') and not exists (
             select from pg_publication_tables p where p.pubname = 'trunkline' and p.schemaname = 'ops' and p.tablename = t.relname
               and a.attname = any(p.attnames))`,
      ),
    ).toEqual([]);
  });

  // Logical replication leaves generated columns out.
  test('no view takes a figure from a generated column', async () => {
    expect(
      await facts.query(
        `select d.refobjid::regclass || '.' || a.attname as name
         from pg_rewrite r join pg_class v on v.oid = r.ev_class join pg_depend d on d.objid = r.oid
           join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
         where v.relnamespace = 'reporting'::regnamespace and d.refclassid = 'pg_class'::regclass and a.attgenerated <> ''`,
      ),
    ).toEqual([]);
  });

  test('a copy follows row by row and gives the figures of the reports, and who is erased is gone there', async () => {
    await superuser.query(`create database copy owner ${new URL(postgres.url).username}`);
    await migrated(Object.assign(new URL(postgres.url), { pathname: '/copy' }).href);
    // On one server, whoever creates the subscription would wait for itself.
    await superuser.query(`select pg_create_logical_replication_slot('trunkline', 'pgoutput')`);
    const from = Object.assign(new URL(postgres.url), { username: 'replica', password: 'replica' });
    await subscribe(copy.href, from.href, ' with (create_slot = false)');
    const urls = { publisher: publisher.href, copy: copy.href };
    await addDay('2026-03-04', 3);
    await addDay('2026-03-05', 4);
    await facts.drain();
    await drainOutcomes(facts.db);
    await caughtUp(urls.publisher);
    expect(await tablesThatDiffer(urls)).toEqual({});
    expect((await viewsThatDiffer(urls)).differing).toEqual({});

    const number = numberOf(3);
    const mentions = `select count(*)::integer as count from ops.sends where number = '${number}'`;
    expect(await run(urls.copy, mentions)).toEqual([{ count: 1 }]);
    await eraseNumber({ db: facts.db, queues: { forget: async () => 0 }, knownAfterMs: 0 }, number);
    await caughtUp(urls.publisher);
    expect(await run(urls.copy, mentions)).toEqual([{ count: 0 }]);
    expect(await tablesThatDiffer(urls)).toEqual({});
    expect(
      await run(urls.copy, `select count(*)::integer as count from warehouse.sms_messages where body <> ''`),
    ).toEqual([{ count: 0 }]);

    expect(await readSlots(facts.db)).toMatchObject([{ name: 'trunkline', isLost: false }]);
    await run(urls.copy, 'drop subscription trunkline');
  });
});
