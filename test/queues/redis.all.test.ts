import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues, type Queues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { temporaryFolder } from '../at-end.ts';
import { createDatabase, databaseForTest, dropDatabase } from '../stores/databases.ts';
import { freePort, type RedisServer, startRedis } from '../stores/redis.ts';
import { call, settled, testQueuesOn } from './contract.ts';

await testQueuesOn('redis');
const databaseUrl = await databaseForTest(migrateQueues);
const otherDatabaseUrl = await databaseForTest(migrateQueues);

async function redisServer(...given: Parameters<typeof startRedis>): Promise<RedisServer> {
  const redis = await startRedis(...given);
  onTestFinished(() => redis.stop());
  return redis;
}

async function open(redisUrl = inject('redisUrl'), url = databaseUrl) {
  const timing = { lockDuration: 1_000, stalledInterval: 500 };
  const queues = await createQueues({ redisUrl, databaseUrl: url, log: createLog('silent'), timing });
  onTestFinished(() => queues.close());
  return queues;
}

/** Works the queue; resolves once a job is enqueued and taken, however often that has to be tried. */
function hearing(queues: Queues) {
  const seen: string[] = [];
  queues.work('calls', {}, async ({ key }) => void seen.push(key));
  const hears = (key: string) =>
    vi.waitUntil(
      async () => {
        await queues.enqueue('calls', [call(key)]).catch(() => undefined);
        return seen.includes(key);
      },
      { ...settled, interval: 100 },
    );
  return { seen, hears };
}

test('two deployments share a Redis and no job: each database has keys of its own', async () => {
  const [ours, oursAgain, theirs] = [await open(), await open(), await open(undefined, otherDatabaseUrl)];
  const them = hearing(theirs);
  await ours.enqueue('calls', [call('of ours')]);
  await them.hears('of theirs');
  expect(await oursAgain.waiting('calls')).toBe(1);
  const us = hearing(oursAgain);
  await vi.waitUntil(() => us.seen.length > 0, settled);
  expect([new Set(them.seen), us.seen]).toEqual([new Set(['of theirs']), ['of ours']]);
});

test('queues open once the database can be asked whose they are', async () => {
  const name = `late_${process.pid}_${process.env.VITEST_POOL_ID ?? 0}`;
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  const queues = await open(undefined, url.href);
  await expect(queues.enqueue('calls', [call('1')])).rejects.toMatchObject({ code: 'queue_unavailable' });
  await expect(queues.open()).rejects.toMatchObject({ code: 'queue_unavailable' });
  await createDatabase(name);
  onTestFinished(() => dropDatabase(name));
  await queues.enqueue('calls', [call('1')]);
  expect(await queues.waiting('calls')).toBe(1);
  for (const queue of queues.bull) await queue.obliterate({ force: true });
});

describe('after a failover', () => {
  const demote = async (redis: RedisServer, primary: number) => {
    const client = new Redis(redis.url);
    await client.replicaof('127.0.0.1', primary);
    client.disconnect();
  };

  test('the new primary is found, though connections to the old one stand, and none stays there', async () => {
    const [old, next] = [await redisServer(), await redisServer()];
    let target = old.port;
    const address = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => near.destroy()).on('close', () => far.destroy());
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void address.close());
    await once(address, 'listening');
    const { hears } = hearing(await open(`redis://127.0.0.1:${(address.address() as AddressInfo).port}`));
    await hears('before');
    target = next.port;
    await demote(old, next.port);
    await hears('after');
    const admin = new Redis(old.url);
    onTestFinished(() => admin.disconnect());
    const clients = async () =>
      String(await admin.client('LIST', 'TYPE', 'NORMAL'))
        .trim()
        .split('\n').length;
    await vi.waitUntil(async () => {
      await hears('more');
      return (await clients()) === 1;
    }, settled);
  });

  test('a Redis that is a read-only replica is told of, since it answers and takes no job', async () => {
    const [redis, primary] = [await redisServer(), await redisServer()];
    const queues = await open(redis.url);
    await hearing(queues).hears('before');
    await demote(redis, primary.port);
    await vi.waitUntil(async () => (await queues.health()).reason?.includes('READONLY'), settled);
  });
});

describe('over TLS', async () => {
  const folder = await temporaryFolder();
  const port = await freePort();
  const inFolder = (name: string) => join(folder, name);
  const certify = (name: string, ...more: readonly string[]) =>
    execFileSync(
      'openssl',
      [
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout'.split(' '),
        ...[`${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`, ...more],
      ],
      { cwd: folder, stdio: 'pipe' },
    );
  let redis: RedisServer;
  beforeAll(async () => {
    certify('authority');
    certify('stranger');
    const signed = '-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE -CA authority.pem';
    certify('server', ...signed.split(' '), '-CAkey', 'authority.key');
    const tls = `--port 0 --tls-port ${port} --tls-auth-clients no --tls-ca-cert-file ${inFolder('authority.pem')}`;
    const own = `--tls-cert-file ${inFolder('server.pem')} --tls-key-file ${inFolder('server.key')}`;
    redis = await startRedis({ port, dir: folder, args: `${tls} ${own}`.split(' ') });
  });
  afterAll(() => redis.stop());
  const url = (query: string) => `rediss://127.0.0.1:${port}${query}`;

  test.each([`?sslrootcert=${inFolder('authority.pem')}`, '?sslmode=no-verify', '?rejectUnauthorized=false'])(
    'a Redis whose authority is private brings its jobs: %s',
    async (query) => {
      await hearing(await open(url(query))).hears('a job');
    },
  );

  test.each(['', '?sslmode=verify-full', `?sslrootcert=${inFolder('stranger.pem')}`])(
    'its certificate is refused without its authority, and the reason says what to do: %s',
    async (query) => {
      const reason = expect.stringContaining('name its authority with sslrootcert=FILE in REDIS_URL');
      expect(await (await open(url(query))).health()).toMatchObject({ isReachable: false, reason });
    },
  );
});
