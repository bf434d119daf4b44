import { Client } from 'pg';
import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { migrateAll } from '../../src/migrations.ts';
import { isMigrated, migrate } from '../../src/warehouse/migrate.ts';
import { databaseForTest, superuserUrlOf } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';
import { until } from '../world.ts';

const log = createLog('silent');
const [fresh, twice, crowd, ahead, busy, read] = [
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

test('many processes may migrate at once', async () => {
  const outcomes = await Promise.all([1, 2, 3].map(() => migrate(crowd, log)));
  expect(outcomes.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
});

test('a database that a newer release migrated is left as it is', async () => {
  await using database = openDatabase(ahead);
  await database.query(`insert into ops.migrations (name, timestamp) values ('9999_of_tomorrow', 'now')`);
  expect(await migrateAll(ahead, log)).toEqual({ applied: [], ahead: ['9999_of_tomorrow'] });
  expect(await isMigrated(database.db)).toBe(true);
});

test('a migration that Postgres ends in favour of a process at work is applied after it', async () => {
  await using database = openDatabase(busy);
  await database.query(`alter table ops.subscription_watch drop column receiver_hash, drop column shown_hash`);
  await database.query(`drop index warehouse.sms_conversations_groups`);
  const missing = ['0051_shown_addresses', '0052_groups_of_lines'];
  await database.query(`delete from ops.migrations where name = any($1)`, [missing]);
  const worker = new Client({ connectionString: superuserUrlOf(busy) });
  await worker.connect();
  try {
    // Whoever looks first whether two wait for each other is ended: this one never looks.
    await worker.query(`set deadlock_timeout = '1h'`);
    await worker.query(`begin; lock table warehouse.sms_conversations in row exclusive mode`);
    const migrating = migrateAll(busy, log);
    const waiting = `select from pg_locks join pg_database d on d.oid = database
      where datname = current_database() and relation = 'warehouse.sms_conversations'::regclass and not granted`;
    await until(async () => (await database.query(waiting)).length > 0);
    await worker.query(`lock table ops.subscription_watch in row exclusive mode`);
    await worker.query('commit');
    expect((await migrating).applied).toEqual(missing);
  } finally {
    await worker.end();
  }
});

test('a migration waits for whoever reads what it changes, and nobody else waits behind it', async () => {
  await using database = openDatabase(read);
  await database.query(`alter table ops.subscription_watch drop column receiver_hash, drop column shown_hash`);
  await database.query(`delete from ops.migrations where name = '0051_shown_addresses'`);
  await database.query(`update ops.views set text_hash = 'another' where view_name = 'dim_user'`);
  const analyst = new Client({ connectionString: read });
  const mirror = new Client({ connectionString: read, statement_timeout: 5_000 });
  await Promise.all([analyst.connect(), mirror.connect()]);
  const isWaitedFor = (relation: string) =>
    until(async () => {
      const waiting = await database.query(
        'select from pg_locks where relation = $1::regclass and not granted',
        relation,
      );
      return waiting.length > 0;
    });
  try {
    await analyst.query('begin; select from ops.subscription_watch');
    const migrating = migrateAll(read, log);
    await isWaitedFor('ops.subscription_watch');
    await mirror.query('select from ops.subscription_watch');
    await analyst.query('commit; begin; select from reporting.dim_user');
    await isWaitedFor('reporting.dim_user');
    await mirror.query('select from reporting.dim_user');
    await analyst.query('commit');
    expect((await migrating).applied).toEqual(['0051_shown_addresses']);
    expect(await database.query(`select from ops.views where text_hash = 'another'`)).toEqual([]);
  } finally {
    await Promise.all([analyst.end(), mirror.end()]);
  }
});
