import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { migrateAll } from '../../src/migrations.ts';
import { isMigrated, migrate } from '../../src/warehouse/migrate.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';

const log = createLog('silent');
const [fresh, twice, crowd, ahead] = [
  await databaseForTest(),
  await databaseForTest(migrated),
  await databaseForTest(),
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
