import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/shared/log.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';
import { migrated } from '../world/database.ts';
import { asOwner, createWorld, secret, until, type World } from '../world.ts';

const redis = await startRedis();
const world = await createWorld({ backend: 'redis', redisUrl: redis.url });
const slow = await createWorld({ backend: 'postgres', workers: null });
const hangingUrl = await databaseForTest(migrated);
const readOnlyUrl = await databaseForTest(migrated);
afterAll(async () => {
  await world.close();
  await slow.close();
  await redis.stop();
});

const event = (at: number) => ({ callId: `1783386668.${at}`, status: 'missed' });
const ready = async ({ receiver }: World) => {
  const answer = await fetch(`${receiver.url}/readyz`);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

test('without Redis deliveries are accepted, and read when it is back', async () => {
  await redis.kill('SIGKILL');
  expect((await world.deliver('AccountEndedCalls', event(1))).status).toBe(202);
  expect(await ready(world)).toMatchObject({ status: 200, body: { database: true, queue: false } });
  await using back = await startRedis({ port: redis.port, dir: redis.dir });
  expect(back.port).toBe(redis.port);
  await until(
    async () =>
      (await world.value(`select read_at is not null from ops.sync_targets where key = '1783386668.1'`)) === true,
  );
  await world.close();
});

test('without Postgres deliveries are sent away, and accepted when it is back', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-outage-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const log = createLog('silent');
  const first = await startPostgres({ dataDir, log });
  await migrated(first.url);
  const own = await createWorld({ backend: 'redis', databaseUrl: first.url, workers: null });
  onTestFinished(own.close);
  expect((await own.deliver('AccountEndedCalls', event(1))).status).toBe(202);

  await first.stop();
  const away = await own.deliver('AccountEndedCalls', event(2));
  expect(away.status).toBe(503);
  expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ready(own)).status).toBe(503);
  expect((await fetch(`${own.receiver.url}/healthz`)).status).toBe(200);

  const again = await startPostgres({ dataDir, log });
  onTestFinished(() => again.stop());
  const verdict = async () =>
    (
      (await (await fetch(`${own.receiver.url}/api/status`, { headers: asOwner })).json()) as {
        verdict?: { sentence: string };
      }
    ).verdict?.sentence;
  // A disk that is full shows in nothing but this: Postgres answers, and says that it takes writes.
  await until(async () => (await verdict())?.startsWith('Postgres accepts no writes') === true);
  await until(async () => (await own.deliver('AccountEndedCalls', event(3))).status === 202);
  await until(async () => (await verdict())?.startsWith('Everything is') === true);
  expect(await ready(own)).toMatchObject({ status: 200 });
  expect(own.logged().match(/cannot be stored/g)).toHaveLength(1);
  expect(own.logged().match(/stored again/g)).toHaveLength(1);
});

test('a Postgres that takes no writes is told as one that is away', async () => {
  const own = await createWorld({ backend: 'postgres', databaseUrl: readOnlyUrl, workers: null });
  onTestFinished(own.close);
  const name = new URL(readOnlyUrl).pathname.slice(1);
  const endSessions = `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`;
  expect(await ready(own)).toMatchObject({ status: 200, body: { database: true } });
  await own.query(`alter database ${name} set default_transaction_read_only = on`);
  await own.query(endSessions);
  expect((await own.deliver('AccountEndedCalls', event(4))).status).toBe(503);
  expect(await ready(own)).toMatchObject({ status: 503, body: { status: 'not ready', database: false } });
});

test('a Postgres that hangs is told as one that is away, in time', async () => {
  const closing: (() => Promise<void>)[] = [];
  const wire = await openWire(Number(new URL(hangingUrl).port), (close) => closing.push(close));
  const own = await createWorld({ backend: 'redis', databaseUrl: wire.through(hangingUrl), workers: null });
  onTestFinished(async () => {
    wire.delay(0);
    await own.close();
    for (const close of closing) await close();
  });
  expect(await ready(own)).toMatchObject({ status: 200 });

  wire.delay(20_000);
  const began = performance.now();
  const asked = await Promise.all([ready(own), ready(own), ready(own), ready(own)]);
  expect(performance.now() - began).toBeLessThan(15_000);
  for (const answer of asked) {
    expect(answer).toMatchObject({ status: 503, body: { database: false, migrations: true, queue: true } });
  }
  wire.delay(0);
  await until(async () => (await ready(own)).status === 200);
});

test('a sender that is too slow is cut', async () => {
  const socket = connect(slow.receiver.port, '127.0.0.1');
  const ended = new Promise<string>((resolve) => {
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.on('close', () => resolve(said));
    socket.on('error', () => undefined);
  });
  socket.write(`POST /hooks/${secret}/AccountSMS HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n`);
  const drip = setInterval(() => socket.write('x'), 500);
  const began = performance.now();
  const said = await ended;
  clearInterval(drip);
  expect(performance.now() - began).toBeGreaterThan(8_000);
  expect(performance.now() - began).toBeLessThan(45_000);
  expect(said).toMatch(/^(HTTP\/1\.1 408|$)/);
  expect(await slow.value('select count(*)::integer from ops.deliveries')).toBe(0);
});
