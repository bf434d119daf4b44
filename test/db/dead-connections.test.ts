import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, query } from '../../src/db/database.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { databaseForTest } from '../stores/databases.ts';
import { captureLog } from '../world/log.ts';
import { until } from '../world.ts';

const direct = await databaseForTest();

async function wired() {
  const wire = await openWire(Number(new URL(direct).port), onTestFinished);
  const open = (url: string) => createDatabase({ url, log: captureLog().log, maxConnections: 1, name: 'silence' });
  const database = open(wire.through(direct));
  const beside = open(direct);
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]();
    await beside[Symbol.asyncDispose]();
  });
  return { wire, db: database.db, beside: beside.db };
}

test('a connection that a firewall forgot is given up within seconds, and what it held is free', async () => {
  const { wire, db, beside } = await wired();
  await query(db, 'create table held (id int primary key)', []);
  const begun = performance.now();
  const lost = db.transaction().execute(async (tx) => {
    await query(tx, 'insert into held values (1)', []);
    wire.forget();
    await query(tx, 'select', []);
  });
  await expect(lost).rejects.toThrow('connection');
  expect(performance.now() - begun).toBeLessThan(60_000);
  await until(async () => (await query(beside, 'insert into held values (1) returning id', [])).length === 1);
  expect(await query(db, 'select id from held', [])).toEqual([{ id: 1 }]);
});

test('a statement takes as long as it takes', async () => {
  const { db } = await wired();
  expect(await query(db, 'select 1 as one from pg_sleep(9)', [])).toEqual([{ one: 1 }]);
});

test('a transaction may rest as long as it likes', async () => {
  const { db } = await wired();
  const rested = db.transaction().execute(async (tx) => {
    await query(tx, 'select', []);
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    return query(tx, 'select 1 as one', []);
  });
  expect(await rested).toEqual([{ one: 1 }]);
});

test('a session that a pooler lends is left alone, since it may serve another by now', async () => {
  const { url, forget } = await pooled();
  const open = (address: string) =>
    createDatabase({ url: address, log: captureLog().log, maxConnections: 1, name: 'pooled' });
  const database = open(url);
  const beside = open(direct);
  onTestFinished(() => beside[Symbol.asyncDispose]());
  const [lent] = await query<{ pid: number }>(database.db, 'select pg_backend_pid() as pid', []);
  forget();
  const unanswered = query(database.db, 'select', []).catch(() => 'ended');
  expect(await Promise.race([unanswered, new Promise((resolve) => setTimeout(resolve, 9_000, 'waits'))])).toBe('waits');
  expect(await query(beside.db, 'select from pg_stat_activity where pid = $1', [lent?.pid])).toHaveLength(1);
});

/** An address of Postgres behind what numbers its sessions itself, as poolers do, and may forget those that it has. */
async function pooled(): Promise<{ url: string; forget(): void }> {
  const backendKey = Buffer.from('K\0\0\0\f');
  let lent = { isForgotten: false };
  const server = createServer((client) => {
    const own = lent;
    const postgres = connect(Number(new URL(direct).port), new URL(direct).hostname);
    for (const socket of [client, postgres]) socket.on('error', () => undefined);
    client.on('data', (bytes) => own.isForgotten || postgres.write(bytes));
    postgres.on('data', (bytes) => {
      const at = bytes.indexOf(backendKey);
      if (at >= 0) bytes.writeInt32BE(1, at + backendKey.length);
      if (!own.isForgotten) client.write(bytes);
    });
    onTestFinished(() => {
      for (const socket of [client, postgres]) socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = new URL(direct);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    forget() {
      lent.isForgotten = true;
      lent = { isForgotten: false };
    },
  };
}
