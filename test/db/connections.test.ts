import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openPool } from '../../src/db/connections.ts';
import { createDatabase, query } from '../../src/db/database.ts';
import { createLog } from '../../src/shared/log.ts';
import { databaseForTest, superuserUrlOf } from '../stores/databases.ts';
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

/** A database of its own, and its administrator, who decides whether new sessions may write. */
async function switchable() {
  const own = await databaseForTest();
  const admin = new Client({ connectionString: superuserUrlOf(own) });
  await admin.connect();
  onTestFinished(() => admin.end());
  await admin.query('create table written (at timestamptz); grant all on written to public');
  const name = new URL(own).pathname.slice(1);
  return {
    url: own,
    admin,
    setReadOnly: (value: 'on' | 'off') =>
      admin.query(`alter database ${name} set default_transaction_read_only = ${value}`),
  };
}

/** Half a minute, within which everything writes again. */
const soonMs = 30_000;
const write = 'insert into written values (now())';

test('sessions that began while the database was read-only are replaced, so that it is written again', async () => {
  const { url: own, setReadOnly } = await switchable();
  const captured = captureLog();
  await setReadOnly('on');
  const database = createDatabase({ url: own, log: captured.log, maxConnections: 3, name: 'read-only' });
  onTestFinished(() => database[Symbol.asyncDispose]());
  const all = () => Promise.allSettled(Array.from({ length: 3 }, () => query(database.db, write, [])));
  expect(await all()).toMatchObject(Array(3).fill({ reason: { code: '25006' } }));
  await setReadOnly('off');
  await vi.waitUntil(async () => (await all()).every(({ status }) => status === 'fulfilled'), {
    timeout: soonMs,
    interval: 300,
  });
  expect(captured.text()).toBe('');
});

test('one that only reads is replaced as well, for who asks whether Postgres takes writes', async () => {
  const { url: own, setReadOnly } = await switchable();
  await setReadOnly('on');
  const database = createDatabase({ url: own, log: createLog('silent'), maxConnections: 1, name: 'read-only' });
  onTestFinished(() => database[Symbol.asyncDispose]());
  const isReadOnly = async () =>
    (await query<{ is: string }>(database.db, `select current_setting('transaction_read_only') as is`, []))[0]?.is;
  expect(await isReadOnly()).toBe('on');
  await setReadOnly('off');
  await vi.waitUntil(async () => (await isReadOnly()) === 'off', { timeout: soonMs, interval: 300 });
});

test('a pooler does not hand out the server connection of a read-only session again', async () => {
  const { url: own, admin, setReadOnly } = await switchable();
  await setReadOnly('on');
  const database = createDatabase({ url: own, log: createLog('silent'), maxConnections: 1, name: 'read-only' });
  onTestFinished(() => database[Symbol.asyncDispose]());
  const held = await database.pool.connect();
  const { rows } = await held.query('select pg_backend_pid() as pid');
  await expect(held.query(`select pg_sleep(1.1); ${write}`)).rejects.toMatchObject({ code: '25006' });
  // As a pooler does when its client goes: the server process stays.
  const end = vi.spyOn(held as unknown as Client, 'end').mockResolvedValue();
  held.release();
  await vi.waitUntil(
    async () => (await admin.query('select from pg_stat_activity where pid = $1', [rows[0].pid])).rowCount === 0,
    { timeout: soonMs, interval: 100 },
  );
  end.mockRestore();
});
