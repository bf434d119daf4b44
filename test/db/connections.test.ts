import { expect, test } from 'vitest';
import { openPool } from '../../src/db/connections.ts';
import { createDatabase, query } from '../../src/db/database.ts';
import { createLog } from '../../src/shared/log.ts';
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

test('one that is lost while a caller holds it fails the next statement of the caller, not the process', async () => {
  const lost: string[] = [];
  const pool = openPool(url, createLog('silent'), ({ message }) => lost.push(message), { max: 1 });
  // As the queue library holds one: without a listener of its own.
  const held = await pool.connect();
  const halted = await haltBackends(url);
  await halted.end();
  await expect(held.query('select')).rejects.toThrow();
  held.release(true);
  expect(lost).toContain('terminating connection due to administrator command');
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

test('one that is lost while it is prepared is not handed out', async () => {
  let prepared = 0;
  const pool = openPool(url, createLog('silent'), () => undefined, {
    max: 1,
    async onConnect(client) {
      prepared += 1;
      if (prepared > 1) return;
      // Its last statement has its answer when Postgres ends it: no statement fails, and its error is over.
      const lost = new Promise((resolve) => client.once('error', resolve));
      await (await haltBackends(url)).end();
      await lost;
    },
  });
  await expect(pool.connect()).rejects.toThrow('terminating connection');
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});
