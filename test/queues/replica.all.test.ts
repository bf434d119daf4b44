import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Redis } from 'ioredis';
import { inject, onTestFinished, test, vi } from 'vitest';
import type { TargetJob } from '../../src/queues/backend.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { type RedisServer, startRedis } from '../stores/redis.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const settled = { timeout: conditionTimeoutMs, interval: 100 };

async function redisServer(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return redis;
}

async function demote(redis: RedisServer, primary: number): Promise<void> {
  const client = new Redis(redis.url);
  await client.replicaof('127.0.0.1', primary);
  client.disconnect();
}

/** An address that leads to one server, and then to another one. */
async function switchable(first: number) {
  let target = first;
  const address = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => near.destroy()).on('close', () => far.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void address.close());
  await once(address, 'listening');
  return {
    url: `redis://127.0.0.1:${(address.address() as AddressInfo).port}`,
    leadTo(port: number) {
      target = port;
    },
  };
}

async function queuesIn(redisUrl: string) {
  const queues = await createQueues({ redisUrl, databaseUrl: inject('postgresUrl'), log: createLog('silent') });
  onTestFinished(() => queues.close());
  const seen: TargetJob[] = [];
  queues.work('calls', {}, async (job) => void seen.push(job));
  const hears = (key: string) =>
    vi.waitUntil(async () => {
      await queues.enqueue('calls', [{ kind: 'call', key }]).catch(() => undefined);
      return seen.some((job) => job.key === key);
    }, settled);
  return { queues, hears };
}

test('after a failover the new primary is found, though connections to the old one stand', async () => {
  const [old, next] = [await redisServer(), await redisServer()];
  const address = await switchable(old.port);
  const { hears } = await queuesIn(address.url);
  await hears('before');
  address.leadTo(next.port);
  await demote(old, next.port);
  await hears('after');
});

test('no connection stays at the old one', async () => {
  const [old, next] = [await redisServer(), await redisServer()];
  const address = await switchable(old.port);
  const { hears } = await queuesIn(address.url);
  await hears('before');
  address.leadTo(next.port);
  await demote(old, next.port);
  await hears('after');
  await vi.waitUntil(async () => {
    await hears('more');
    const admin = new Redis(old.url);
    const clients = String(await admin.client('LIST', 'TYPE', 'NORMAL'))
      .trim()
      .split('\n').length;
    admin.disconnect();
    return clients === 1;
  }, settled);
});

test('a Redis that is a read-only replica is told of, since it answers and takes no job', async () => {
  const [redis, primary] = [await redisServer(), await redisServer()];
  const { queues, hears } = await queuesIn(redis.url);
  await hears('before');
  await demote(redis, primary.port);
  await vi.waitUntil(async () => (await queues.health()).reason?.includes('READONLY'), settled);
});
