import { expect, test } from 'vitest';
import { createDatabase, query } from '../../src/db/database.ts';
import { databaseForTest } from '../stores/databases.ts';
import { haltBackends } from '../stores/halted.ts';
import { captureLog } from '../world/log.ts';

const url = await databaseForTest();

async function connected() {
  const captured = captureLog();
  const database = createDatabase({ url, log: captured.log, maxConnections: 1, name: 'connections' });
  await query(database.db, 'select', []);
  return { database, text: captured.text, halted: await haltBackends(url) };
}

test('a connection that Postgres ends is told of', async () => {
  const { database, text, halted } = await connected();
  expect(halted.count).toBe(1);
  await halted.end();
  await database[Symbol.asyncDispose]();
  expect(text()).toContain('A connection to Postgres was lost');
});

test('one that was closed before is not, though Postgres had not noticed when it stopped', async () => {
  const { database, text, halted } = await connected();
  const gone = new Promise((resolve) => database.pool.once('remove', resolve));
  await database[Symbol.asyncDispose]();
  await halted.end();
  await gone;
  expect(text()).toBe('');
});
