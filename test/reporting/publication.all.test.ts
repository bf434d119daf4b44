import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../src/local/postgres.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { createLog } from '../../src/shared/log.ts';
import { migrated, migratedDatabase } from '../world/database.ts';
import { factsDatabase } from './facts.ts';

/** A migrated database on a server of its own, with a superuser's connection to it. */
async function ownServer() {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-publication-'));
  const settings = { fsync: 'off', wal_level: 'logical' };
  const { url, superuserUrl, stop } = await startPostgres({ dataDir, log: createLog('silent'), settings });
  await migrated(url);
  const { pathname } = new URL(url);
  const superuser = new Client({ connectionString: Object.assign(new URL(superuserUrl), { pathname }).href });
  await superuser.connect();
  onTestFinished(async () => {
    await superuser.end();
    await stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { url, superuser };
}

/** The SQL of docs/scale.md for change data capture into Postgres: what the primary runs, and what the copy runs. */
async function documented(): Promise<[primary: string, copy: string]> {
  const page = await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8');
  const [, chapter = ''] = page.split('## Change data capture\n');
  const [primary, copy] = [...chapter.matchAll(/^```sql\n(.*?)^```/gms)].map(([, statements = '']) => statements);
  if (!primary?.startsWith('create publication') || !copy?.startsWith('truncate'))
    throw new Error('other SQL is first');
  return [primary, copy];
}

test('a copy by the statements of docs/scale.md has the figures of the reports, and who is erased is gone there', {
  timeout: 60_000,
}, async () => {
  const [primary, copy] = await Promise.all([ownServer(), ownServer()]);
  const [onPrimary, onCopy] = await documented();
  const facts = await factsDatabase(primary.url);
  onTestFinished(() => facts[Symbol.asyncDispose]());
  const number = '15550000001';
  const addDay = async (day: string, nth: number) => {
    await facts.call({ call_id: `${Date.parse(day) / 1_000}.${nth}`, started_at: `${day}T10:00:00Z` });
    await facts.thread(nth, [[`${day}T12:00:00Z`, 'in']]);
    await facts.drain();
  };
  await facts.params({ time_zone: 'America/New_York' });
  await addDay('2026-03-02', 1);

  await primary.superuser.query(onPrimary.replace('…', 'replica'));
  const from = Object.assign(new URL(primary.url), { username: 'replica', password: 'replica' });
  for (const statement of onCopy.replace(/connection '[^']*'/, `connection '${from.href}'`).split(/(?<=;)\n/)) {
    await copy.superuser.query(statement);
  }
  await addDay('2026-03-03', 2);

  const figures = `select (select jsonb_agg(to_jsonb(c) order by call_id) from reporting.fct_call c) as calls,
    (select jsonb_agg(to_jsonb(h) order by local_date, local_hour) from reporting.call_hourly h) as hours,
    (select jsonb_agg(to_jsonb(d) order by local_date) from reporting.sms_daily d) as texts,
    (select array_agg(number order by number) from reporting.dim_contact) as contacts`;
  const follows = async () => {
    const { rows } = await primary.superuser.query(figures);
    await expect.poll(async () => (await copy.superuser.query(figures)).rows, { timeout: 20_000 }).toEqual(rows);
    return rows[0];
  };
  expect((await follows()).calls).toHaveLength(2);
  expect((await follows()).contacts).toContain(number);
  await eraseNumber({ db: facts.db, queues: { forget: async () => 0 }, knownAfterMs: 0 }, number);
  await facts.drain();
  expect((await follows()).contacts).not.toContain(number);
});

test('each row of each table can be published: it has an identity', async () => {
  await using database = await migratedDatabase();
  const rows = await database.query(`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'warehouse', 'secrets', 'rollups', 'reporting', 'bullmq') and c.relkind in ('r', 'p')
      and c.relreplident <> 'f' and not exists (
        select from pg_index i where i.indrelid = c.oid
          and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end)`);
  expect(rows).toEqual([]);
});
