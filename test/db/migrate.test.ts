import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { inTransaction, query, sql } from '../../src/db/database.ts';
import { isMigrated, migrate } from '../../src/db/migrate.ts';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { temporaryFolder } from '../at-end.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest, superuserUrlOf } from '../stores/databases.ts';
import { locksHere, migrated, openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';

const log = createLog('silent');
const [fresh, late, twice, crowd, ahead, busy, read] = [
  await databaseForTest(),
  await databaseForTest(),
  await databaseForTest(migrated),
  await databaseForTest(),
  await databaseForTest(migrated),
  await databaseForTest(migrated),
  await databaseForTest(migrated),
];

test('a fresh database is brought up to this release, and is only then migrated', async () => {
  await using database = openDatabase(fresh);
  expect(await isMigrated(database.db)).toBe(false);
  const { applied } = await migrateAll(fresh, log);
  expect(applied.length).toBeGreaterThan(0);
  expect(await isMigrated(database.db)).toBe(true);
});

test('migrating again changes nothing', async () => {
  expect(await migrateAll(twice, log)).toEqual({ applied: [], ahead: [] });
});

test('many processes may migrate at once, and make views again', async () => {
  await using database = openDatabase(crowd);
  const all = () => Promise.all([1, 2, 3].map(() => migrate(crowd, log)));
  expect((await all()).filter(({ applied }) => applied.length > 0)).toHaveLength(1);
  await database.query(`update ops.views set text_hash = 'another'`);
  await all();
  expect(await database.query(`select from ops.views where text_hash = 'another'`)).toEqual([]);
});

test('a process that found an empty database sees what another migrated while it waited', async () => {
  await using database = openDatabase(late);
  const { outcome } = await inTransaction(database.db, async (tx) => {
    await query(tx, sql`create schema ops`);
    const waiting = migrate(late, log);
    await until(async () => (await database.value(waitingForLocks)) === 1);
    await query(tx, sql`create table ops.migrations (name text, text_hash text)`);
    await query(tx, sql`insert into ops.migrations (name) values ('9999_of_tomorrow')`);
    return { outcome: waiting };
  });
  expect(await outcome).toMatchObject({ applied: [] });
});

test('a database that a newer release migrated is left as it is', async () => {
  await using database = openDatabase(ahead);
  await database.query(`insert into ops.migrations (name, text_hash) values ('9999_of_tomorrow', '')`);
  await database.query(`update ops.views set text_hash = 'of tomorrow'`);
  expect(await migrateAll(ahead, log)).toEqual({ applied: [], ahead: ['9999_of_tomorrow'] });
  expect(await database.value('select count(distinct text_hash)::integer from ops.views')).toBe(1);
  expect(await isMigrated(database.db)).toBe(true);
});

/** The migrations of this release and further ones, in a folder of their own. */
async function releaseWith(further: Readonly<Record<string, string>>): Promise<URL> {
  const folder = await temporaryFolder();
  const isMigration = (source: string) => /(?:\.sql|migrations\/?)$/.test(source);
  await cp(new URL('../../migrations/', import.meta.url), folder, { recursive: true, filter: isMigration });
  for (const [name, text] of Object.entries(further)) await writeFile(join(folder, `${name}.sql`), text);
  return pathToFileURL(`${folder}/`);
}

test('a database whose baseline has another text is refused by name, and nobody takes it for migrated', async () => {
  const url = await databaseForTest(migrated);
  await using database = openDatabase(url);
  await database.query(`update ops.migrations set text_hash = 'another' where name = '0004_ledger'`);
  await expect(migrateAll(url, log)).rejects.toThrow('0004_ledger');
  expect(await isMigrated(database.db)).toBe(false);
  const settings = { DATABASE_URL: url, WEBHOOK_SECRET: 'a-secret-of-the-baseline-0123' };
  const refused = await runInProcess(settings, 'migrate');
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/before the first release.*an empty database.*dump/s),
  });
  expect((await runInProcess(settings, 'doctor')).out).toContain('lacks migrations of this release');
});

test('line endings of a checkout make no other baseline', async () => {
  const release = await releaseWith({});
  const file = new URL('0001_ops.sql', release);
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('\n', '\r\n'));
  expect(await migrate(twice, log, release)).toMatchObject({ applied: [] });
});

test('a migration that fails leaves nothing, and is named', async () => {
  await using database = openDatabase(twice);
  const release = await releaseWith({
    '0900_good': 'create table ops.good ()',
    '0901_bad': 'create table ops.bad (); select 1 / 0',
  });
  await expect(migrate(twice, log, release)).rejects.toThrow('Migration 0901_bad failed: division by zero');
  expect(await database.value(`select coalesce(to_regclass('ops.good'), to_regclass('ops.bad'))`)).toBeNull();
});

test('functions and triggers whose text changed are applied again', async () => {
  await using database = openDatabase(twice);
  await database.query(`update ops.routines set text_hash = 'another' where file_name = 'erasure'`);
  await database.query('drop function ops.erasure_hash');
  await migrate(twice, log);
  expect(await database.value(`select ops.erasure_hash('1')`)).toMatch(/^[0-9a-f]{64}$/);
  expect(await database.query(`select from ops.routines where text_hash = 'another'`)).toEqual([]);
});

test('a migration that Postgres ends in favour of a process at work is applied after it', async () => {
  await using database = openDatabase(busy);
  const release = await releaseWith({
    '0900_watch': 'alter table ops.subscription_watch add column is_new boolean',
    '0901_threads': 'create index sms_conversations_new on warehouse.sms_conversations (line)',
  });
  const worker = new Client({ connectionString: superuserUrlOf(busy) });
  await worker.connect();
  try {
    // Whoever looks first whether two wait for each other is ended: this one never looks.
    await worker.query(`set deadlock_timeout = '1h'`);
    await worker.query(`begin; lock table warehouse.sms_conversations in row exclusive mode`);
    const migrating = migrate(busy, log, release);
    const waiting = `select from ${locksHere} where relation = 'warehouse.sms_conversations'::regclass and not granted`;
    await until(async () => (await database.query(waiting)).length > 0);
    await worker.query(`lock table ops.subscription_watch in row exclusive mode`);
    await worker.query('commit');
    expect((await migrating).applied).toEqual(['0900_watch', '0901_threads']);
  } finally {
    await worker.end();
  }
});

test('a migration waits for whoever reads what it changes, and nobody else waits behind it', async () => {
  await using database = openDatabase(read);
  const release = await releaseWith({ '0900_watch': 'alter table ops.subscription_watch add column is_new boolean' });
  await database.query(`update ops.views set text_hash = 'another' where view_name = 'dim_user'`);
  const analyst = new Client({ connectionString: read });
  const mirror = new Client({ connectionString: read, statement_timeout: 5_000 });
  await Promise.all([analyst.connect(), mirror.connect()]);
  const isWaitedFor = (relation: string) =>
    until(async () => {
      const waiting = await database.query(
        `select from ${locksHere} where relation = $1::regclass and not granted`,
        relation,
      );
      return waiting.length > 0;
    });
  try {
    await analyst.query('begin; select from ops.subscription_watch');
    const migrating = migrate(read, log, release);
    await isWaitedFor('ops.subscription_watch');
    await mirror.query('select from ops.subscription_watch');
    await analyst.query('commit; begin; select from reporting.dim_user');
    await isWaitedFor('reporting.dim_user');
    await mirror.query('select from reporting.dim_user');
    await analyst.query('commit');
    expect((await migrating).applied).toEqual(['0900_watch']);
    expect(await database.query(`select from ops.views where text_hash = 'another'`)).toEqual([]);
  } finally {
    await Promise.all([analyst.end(), mirror.end()]);
  }
});
