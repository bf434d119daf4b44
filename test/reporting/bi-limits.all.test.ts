import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { inTransaction, limitLockWait, query, sql } from '../../src/db/database.ts';
import { retryWhileLocked } from '../../src/db/migrate.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { grantBiRole } from '../../src/reporting/bi-role.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { createLog } from '../../src/shared/log.ts';
import { databaseForTest, dropRole } from '../stores/databases.ts';
import { migrated, openDatabase, type TestDatabase } from '../world/database.ts';
import { createWorld } from '../world.ts';

let roles = 0;

/** A BI role of a database, and a session of it that may write where it can. */
async function biSession(url: string, granting: TestDatabase): Promise<Client> {
  roles += 1;
  const role = `held_${process.pid}_${process.env.VITEST_POOL_ID ?? 0}_${roles}`;
  await grantBiRole(granting.db, role);
  await granting.query(`alter role ${role} password 'reader'`);
  const address = Object.assign(new URL(url), { username: role, password: 'reader' });
  const client = new Client({ connectionString: address.href });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await dropRole(url, role);
  });
  await client.query(`set default_transaction_read_only = off; set statement_timeout = 0; set lock_timeout = '5s';
    set idle_in_transaction_session_timeout = 0`);
  return client;
}

test('nothing that a BI role may hold keeps the mirror, the rollups or an erasure from their work', async () => {
  const url = await databaseForTest(migrated);
  await using owner = openDatabase(url);
  const world = await createWorld({ backend: 'redis', databaseUrl: url });
  onTestFinished(() => world.close());
  const reader = await biSession(url, owner);
  // Keys of locks that ours might take, whatever they are called: each name of a table, a lock and a queue.
  await reader.query(`select pg_advisory_lock(hashtext(name)), pg_advisory_lock(hashtext(split_part(name, '.', 2)))
    from (select oid::regclass::text as name from pg_class where relkind in ('r', 'v')
      union select 'ops.erasures' union select 'ops.views' union select 'ops.migrations' union select 'reporting.rollups') names`);
  await reader.query('begin isolation level serializable');
  const { rows } = await reader.query(
    `select quote_ident(schemaname) || '.' || quote_ident(viewname) as name from pg_views where schemaname = 'reporting'`,
  );
  for (const { name } of rows) {
    await reader.query(`lock table ${name} in access share mode`);
    await reader.query(`select from ${name} limit 0`);
  }
  await reader.query(`listen anything; select pg_notify('anything', repeat('x', 7000)) from generate_series(1, 1000)`);
  const call = await world.sandbox.emit.call();
  await world.sandbox.emit.sms();
  await world.settled();
  expect(await owner.value('select count(*)::integer from warehouse.calls where call_id = $1', call.id)).toBe(1);
  expect(await owner.value('select count(*)::integer from warehouse.sms_messages')).toBe(1);
  await drainRollups(owner.db);
  const { queues } = world.context;
  await eraseNumber({ db: owner.db, queues, knownAfterMs: 0 }, '18455550199');
  expect(await inTransaction(owner.db, async () => 'written')).toBe('written');
  for (const statement of [
    'select from reporting.fct_call for update',
    'lock table reporting.fct_call in exclusive mode',
    'lock table ops.locks in access share mode',
    'select from ops.locks',
    'lock table warehouse.calls in access share mode',
    'prepare transaction $$held$$',
  ]) {
    await reader.query('rollback; begin');
    await expect(reader.query(statement), statement).rejects.toThrow();
  }
});

test('a release ends sessions of a BI role that hold its schema for too long, and no other', async () => {
  const url = await databaseForTest(migrated);
  await using owner = openDatabase(url);
  const reader = await biSession(url, owner);
  await reader.query('begin; select from reporting.fct_call limit 0');
  const other = new Client({ connectionString: url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin; select from ops.locks limit 0');
  const changed = () =>
    inTransaction(owner.db, async (tx) => {
      await limitLockWait(tx);
      await query(tx, sql`alter table warehouse.calls alter column call_id set statistics 100`);
      await query(tx, sql`lock table warehouse.calls in access exclusive mode`);
    });
  await retryWhileLocked(owner.db, createLog('silent'), changed, { politeMs: 0 });
  await expect(reader.query('select 1')).rejects.toThrow();
  expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});
