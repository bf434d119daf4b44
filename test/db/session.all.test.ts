import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { waitForPostgres } from '../../src/cli/lifecycle.ts';
import { createDatabase, preparedName, query, sql } from '../../src/db/database.ts';
import { areShared, setUpSession } from '../../src/db/session.ts';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { runInProcess } from '../cli/in-process.ts';
import { trunkline } from '../credentials/commands.ts';
import { startPooler, startTransactionPooler } from '../queues/pooler.ts';
import { databaseForTest, dropDatabase, superuserUrlOf } from '../stores/databases.ts';
import { captureLog } from '../world/log.ts';
import { createWorld } from '../world.ts';

const silent = createLog('silent');

async function asSuperuser(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: superuserUrlOf(url) });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** What a role or a database may set, other than we need it. */
const unusual = {
  array_nulls: 'off',
  bytea_output: 'escape',
  datestyle: 'SQL, DMY',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'serializable',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_indexscan: 'off',
  enable_nestloop: 'off',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  idle_in_transaction_session_timeout: '1s',
  idle_session_timeout: '1s',
  intervalstyle: 'iso_8601',
  jit: 'on',
  lock_timeout: '100ms',
  plan_cache_mode: 'force_generic_plan',
  parallel_setup_cost: '0',
  quote_all_identifiers: 'on',
  row_security: 'off',
  search_path: 'nowhere',
  seq_page_cost: '0.01',
  standard_conforming_strings: 'off',
  statement_timeout: '2s',
  synchronous_commit: 'off',
  timezone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
} as const;

test('what a database sets for its sessions changes nothing, also behind a pooler in session mode: it mirrors what comes', async () => {
  const url = await databaseForTest();
  await using pooler = await startPooler(url);
  const name = new URL(url).pathname.slice(1);
  const statements = Object.entries(unusual).map(
    ([setting, value]) => `alter database ${name} set ${setting} = '${value}'`,
  );
  await asSuperuser(url, ...statements);
  await migrateAll(pooler.url, silent);
  const world = await createWorld({ databaseUrl: pooler.url, backend: 'postgres' });
  onTestFinished(() => world.close());
  const call = await world.sandbox.emit.call();
  await world.settled();
  const { db } = world.context.database;
  const [held] = await query(
    db,
    sql<{ started: Date; known: boolean; zone: string }>`select started_at as started,
      current_setting('timezone') as zone, call_id = ${call.id} as known from warehouse.calls where call_id = ${call.id}`,
  );
  expect(held).toMatchObject({ known: true, zone: 'UTC', started: expect.any(Date) });
  expect(await query(db, sql`select ${['a', null]}::text[] as list, '1 day 2 hours'::interval::text as span`)).toEqual([
    { list: ['a', null], span: '1 day 02:00:00' },
  ]);
  const shown = await query<{ name: string; value: string }>(
    db,
    `select name, current_setting(name) as value from unnest($1::text[]) name`,
    [Object.keys(unusual)],
  );
  expect(shown.filter(({ name, value }) => value === unusual[name as keyof typeof unusual])).toEqual([]);
});

test('a database with another encoding is refused, and nothing is left in it', async () => {
  const name = `test_encoding_${process.pid}`;
  const place = new URL(await databaseForTest());
  await asSuperuser(
    place.href,
    `create database ${name} owner ${decodeURIComponent(place.username)} encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`,
  );
  onTestFinished(() => dropDatabase(name));
  place.pathname = `/${name}`;
  await expect(migrateAll(place.href, silent)).rejects.toThrow('has the encoding SQL_ASCII');
  await expect(waitForPostgres(place.href, silent)).rejects.toThrow('has the encoding SQL_ASCII');
});

test.each([
  [[7, 7, 7], [8, 8, 8], false],
  [[7, 7, 7], [7, 7, 7], true],
  [[7, 8, 7], [9, 9, 9], true],
  [[7, 7, 7], [8, 9, 8], true],
])('sessions are shared if servers %j and %j answer two connections: %s', (first, second, expected) => {
  expect(areShared(first, second)).toBe(expected);
});

const environment = {
  API_BASE_URL: 'http://127.0.0.1:1',
  API_KEY: 'of-nobody',
  WEBHOOK_SECRET: 'a-secret-of-the-sessions-0123456',
  PORT: '0',
};

test('a pooler in transaction mode is refused by each command, which leaves no setting behind', async () => {
  const url = await databaseForTest();
  await migrateAll(url, silent);
  await using pooler = await startTransactionPooler(url);
  const given = { ...environment, DATABASE_URL: pooler.url, REDIS_URL: '' };
  const inRedis = { ...given, REDIS_URL: inject('redisUrl') };
  for (const [variables, name] of [
    [given, 'web'],
    [inRedis, 'web'],
    [given, 'worker'],
    [given, 'start'],
    [given, 'migrate'],
    [given, 'status'],
  ] as const) {
    const command = trunkline(variables, name);
    expect(await command.ended, name).toBe(1);
    expect(command.err(), name).toContain('leads through a pooler in transaction mode');
    expect(command.err(), name).toContain('session mode');
  }
  const doctor = await runInProcess(given, 'doctor');
  expect(doctor.out).toContain('leads through a pooler in transaction mode');
  expect(pooler.statements.filter((text) => /set_config|\bset\b/i.test(text))).toEqual([]);
});

test('the name of a prepared statement is that of its text alone', () => {
  expect(preparedName('select 1')).toBe(preparedName('select 1'));
  expect(preparedName('select 1')).not.toBe(preparedName('select 2'));
  expect(preparedName('select 1'.repeat(1_000)).length).toBeLessThan(64);
});

// What else is such a refusal, of poolers and hosts that are full or starting, is in `refusals.all.test.ts`.
test.each([
  ['XX000', 'MaxClientsInSessionMode: max clients reached - in Session mode max clients are limited to pool_size'],
  ['57P03', 'the database system is starting up'],
])('a start waits for who refuses with %s, %s', async (code, message) => {
  const url = await databaseForTest();
  let isFull = true;
  await using pooler = await startPooler(url, () => (isFull ? { code, message } : undefined));
  const captured = captureLog();
  const waiting = waitForPostgres(pooler.url, captured.log);
  await expect.poll(captured.text).toContain(message);
  isFull = false;
  await waiting;
  expect(captured.text()).toContain('Postgres accepts connections now');
});

test('what may be a wrong setting is not waited for without end, and what is one not at all', async () => {
  const url = await databaseForTest();
  let refusal = { code: '08P01', message: 'no such user' };
  await using pooler = await startPooler(url, () => refusal);
  await expect(waitForPostgres(pooler.url, silent, { maxVagueMs: 700 })).rejects.toThrow('no such user');
  for (const code of ['28P01', '3D000']) {
    refusal = { code, message: 'of a setting' };
    await expect(waitForPostgres(pooler.url, silent)).rejects.toThrow('of a setting');
  }
});

test('a pooler that had granted a connection is waited for, however long it refuses others', async () => {
  const url = await databaseForTest();
  let granted = 0;
  await using pooler = await startPooler(url, () => {
    granted += 1;
    // The second of each two, for a while.
    return granted < 12 && granted % 2 === 0 ? { code: 'XX000', message: 'max clients reached' } : undefined;
  });
  await waitForPostgres(pooler.url, silent, { maxVagueMs: 1 });
});

test.each([
  ['XX000', 'max clients reached'],
  ['53300', 'too many connections for role "app"'],
])('a pool asks again while it is refused with %s, and says why, once', async (code, message) => {
  const url = await databaseForTest();
  let asked = 0;
  await using pooler = await startPooler(url, () => {
    asked += 1;
    return asked < 4 ? { code, message } : undefined;
  });
  const captured = captureLog();
  await using database = createDatabase({ url: pooler.url, log: captured.log, maxConnections: 1, name: 'full' });
  expect(await query(database.db, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  expect(captured.text().split(message.split('"')[0] ?? '')).toHaveLength(2);
});

test('a limit of some milliseconds on statements does not end the one that lifts it', async () => {
  const url = new URL(await databaseForTest());
  const client = new Client({
    connectionString: url.href,
    options:
      '-c statement_timeout=20ms -c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0',
  });
  await client.connect();
  onTestFinished(() => client.end());
  await setUpSession(client);
  expect((await client.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
});
