import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { startPostgres } from '../../src/local/postgres.ts';
import type { TargetJob } from '../../src/queues/backend.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues, type Queues, QueueUnavailable, type QueueWorker } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { createDatabase, dropDatabase } from '../stores/databases.ts';
import { haltBackends } from '../stores/halted.ts';
import { type RedisServer, startRedis } from '../stores/redis.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const timing = { lockDuration: 1_000, stalledInterval: 500 };
const settled = { timeout: conditionTimeoutMs, interval: 20 };
const job: TargetJob = { kind: 'call', key: '1783385492.057900' };
const soon = { timeout: 30_000, interval: 100 };
const patience = 2_500;

test('an enqueue while Redis hangs is refused in bounded time', async () => {
  const { redis, queues } = await working();
  await redis.kill('SIGSTOP');
  await refusesInTime(queues);
  await redis.kill('SIGCONT');
  await vi.waitUntil(() => enqueues(queues), settled);
});

test('queues that open while Redis is down enqueue once it is there', async () => {
  const gone = await usingRedis();
  await gone.kill('SIGKILL');
  const queues = await usingQueues(gone.url);
  const seen: TargetJob[] = [];
  queues.work('calls', {}, async (job) => void seen.push(job));
  await refusesInTime(queues);
  await usingRedis({ port: gone.port, dir: gone.dir });
  await vi.waitUntil(() => enqueues(queues), settled);
  await vi.waitUntil(() => seen.length > 0, settled);
});

test('closing returns by its deadline when Redis is gone', async () => {
  const redis = await usingRedis();
  const queues = await usingQueues(redis.url);
  const begun = Promise.withResolvers<void>();
  const worker = queues.work('calls', {}, () => {
    begun.resolve();
    return new Promise(() => {});
  });
  await vi.waitUntil(() => enqueues(queues), settled);
  await begun.promise;
  await redis.kill('SIGKILL');
  const start = performance.now();
  await worker.close(500);
  expect(performance.now() - start).toBeLessThan(20_000);
  await queues.close();
  expect(performance.now() - start).toBeLessThan(20_000 + patience);
});

describe('closing with nothing in hand, while the store is away, neither waits for it nor speaks of work', () => {
  test.each(['before the worker started', 'while it waited for jobs'])('Redis went %s', async (when) => {
    const redis = await usingRedis();
    const log = logOf();
    if (when.startsWith('before')) await redis.kill('SIGKILL');
    const queues = await usingQueues(redis.url, log.write);
    const worker = queues.work('calls', {}, async () => undefined);
    if (!when.startsWith('before')) {
      await vi.waitUntil(() => enqueues(queues), settled);
      await redis.kill('SIGKILL');
    }
    await closesSoon(worker, log);
  });

  test('Redis went while the last job was answered', async () => {
    const redis = await usingRedis();
    const log = logOf();
    const queues = await usingQueues(redis.url, log.write);
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const worker = queues.work('calls', {}, () => {
      begun.resolve();
      return end.promise;
    });
    await vi.waitUntil(() => enqueues(queues), settled);
    await begun.promise;
    await redis.kill('SIGKILL');
    setTimeout(end.resolve, 500);
    await closesSoon(worker, log);
  });

  test('Postgres went', async () => {
    const { postgres, queues, log } = await inOwnPostgres();
    const seen: TargetJob[] = [];
    const worker = queues.work('calls', {}, async (job) => void seen.push(job));
    await queues.enqueue('calls', [job]);
    await vi.waitUntil(() => seen.length === 1, settled);
    await postgres.stop('immediate');
    await closesSoon(worker, log);
  });

  async function closesSoon(worker: QueueWorker, log: ReturnType<typeof logOf>): Promise<void> {
    const start = performance.now();
    await worker.close(60_000);
    expect(performance.now() - start).toBeLessThan(30_000);
    expect(log.sentences().filter((each) => each.includes('busy'))).toEqual([]);
  }
});

describe('a Redis whose user lacks a command', () => {
  test('takes jobs without INFO', async () => {
    const redis = await restrictedRedis('-info');
    const queues = await usingQueues(redis.url);
    const seen: TargetJob[] = [];
    queues.work('calls', {}, async (job) => void seen.push(job));
    await vi.waitUntil(() => enqueues(queues), settled);
    await vi.waitUntil(() => seen.length > 0, settled);
    expect(await queues.health()).toMatchObject({ isReachable: true });
  });

  test.each([
    ['bzpopmin', `'bzpopmin'`],
    ['evalsha', `'evalsha'`],
    // Redis 7.0 does not name what a script may not run.
    ['zadd', 'script'],
  ])('is told that it is %s, and the worker waits', async (command, words) => {
    const redis = await restrictedRedis(`-${command}`);
    const queues = await usingQueues(redis.url);
    queues.work('calls', {}, async () => undefined);
    await vi.waitUntil(async () => {
      await enqueues(queues);
      return (await queues.health()).reason?.includes(words);
    }, soon);
    expect((await queues.health()).reason).toContain('The user of REDIS_URL may not run');
    const before = await redis.commands();
    await sleep(2_000);
    expect((await redis.commands()) - before).toBeLessThan(200);
    // Once it may, all goes on by itself.
    await redis.allow(command);
    const taken = Promise.withResolvers<void>();
    queues.work('calls', {}, async () => taken.resolve());
    await vi.waitUntil(() => enqueues(queues), settled);
    await taken.promise;
  });

  async function restrictedRedis(rule: string) {
    const redis = await usingRedis();
    const admin = new Redis(redis.url);
    onTestFinished(() => void admin.disconnect());
    await admin.call('ACL', 'SETUSER', 'queues', 'on', '>pw', '~*', '&*', '+@all', rule);
    const url = new URL(redis.url);
    url.username = 'queues';
    url.password = 'pw';
    return {
      url: url.href,
      allow: (command: string) => admin.call('ACL', 'SETUSER', 'queues', `+${command}`),
      commands: async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]),
    };
  }
});

test('a Redis whose memory is used up cannot be used, and says why', async () => {
  const redis = await usingRedis({ args: ['--maxmemory', '1'] });
  const queues = await usingQueues(redis.url);
  await refusesInTime(queues);
  await vi.waitUntil(async () => (await queues.health()).reason?.includes('OOM'), settled);
});

test('says once that Redis went and once that it came back', async () => {
  const redis = await usingRedis();
  const log = logOf();
  const queues = await usingQueues(redis.url, log.write);
  await vi.waitUntil(() => enqueues(queues), settled);
  await redis.kill('SIGKILL');
  for (let attempt = 0; attempt < 5; attempt += 1) await refusesInTime(queues);
  await usingRedis({ port: redis.port, dir: redis.dir });
  await vi.waitUntil(async () => (await enqueues(queues)) && log.sentences().length > 1, settled);
  expect(log.sentences()).toEqual(['The queues cannot be reached; targets wait in Postgres', 'The queues are back']);
});

test('a job whose lock another worker has is no trouble of the store', async () => {
  const redis = await usingRedis();
  const log = logOf();
  const queues = await usingQueues(redis.url, log.write, 'debug');
  const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  queues.work('calls', {}, () => {
    begun.resolve();
    return ending.promise;
  });
  await vi.waitUntil(() => enqueues(queues), settled);
  await begun.promise;
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const [lock = ''] = await client.keys('*:lock');
  await client.set(lock, 'of another worker');
  ending.resolve();
  const lost = 'A job took longer than its lock; another worker may take it too, which is harmless';
  await vi.waitUntil(() => log.sentences().includes(lost), settled);
  expect(new Set(log.sentences())).toEqual(new Set([lost]));
});

test.each([
  ['no password', (url: string) => url],
  ['a wrong password', (url: string) => url.replace('//', '//:a-wrong-one@')],
])('a Redis that is given %s says so, and does not tell it', async (_what, given) => {
  const redis = await usingRedis({ args: ['--requirepass', 'the-right-one'] });
  const queues = await usingQueues(given(redis.url));
  await vi.waitUntil(async () => (await queues.health()).reason !== undefined, settled);
  const { isReachable, reason } = await queues.health();
  expect(isReachable).toBe(false);
  expect(reason).toMatch(/^Redis refuses the user or the password of REDIS_URL \((?:NOAUTH|WRONGPASS) /);
  expect(reason).not.toContain('one');
});

test('a Redis whose user may not run scripts is no usable one, and the remedy says so', async () => {
  const redis = await usingRedis();
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  await client.call('acl', 'setuser', 'reader', 'on', '>a-password', '~*', '+@all', '-eval');
  const queues = await usingQueues(redis.url.replace('//', '//reader:a-password@'));
  await vi.waitUntil(async () => (await queues.health()).reason !== undefined, settled);
  const { isReachable, reason } = await queues.health();
  expect(isReachable).toBe(false);
  expect(reason).toMatch(/^The user of REDIS_URL may not run what the queues need .*EVAL/);
});

test('queues that are opened for reading leave no trace in Redis', async () => {
  const redis = await usingRedis();
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const options = { redisUrl: redis.url, databaseUrl: inject('postgresUrl'), log: createLog('silent'), timing };
  const reading = await createQueues({ ...options, isReadOnly: true });
  expect(await reading.waiting('calls')).toBe(0);
  await reading.close();
  expect(await client.dbsize()).toBe(0);
});

test('what a closed connection still hears of a Postgres that stops is no trouble', async () => {
  const databaseUrl = await createDatabase('test_closed_queues');
  onTestFinished(() => dropDatabase('test_closed_queues'));
  await migrateQueues(databaseUrl);
  const log = logOf();
  const queues = await createQueues({ redisUrl: undefined, databaseUrl, log: createLog('info', log), timing });
  await queues.enqueue('calls', [job]);
  const halted = await haltBackends(databaseUrl);
  await queues.close();
  await halted.end();
  expect(halted.count).toBeGreaterThan(0);
  expect(log.sentences()).toEqual([]);
});

async function inOwnPostgres() {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, log: createLog('silent') });
  onTestFinished(() => postgres.stop());
  await migrateQueues(postgres.url);
  const log = logOf();
  const options = { redisUrl: undefined, databaseUrl: postgres.url, log: createLog('info', log), timing };
  const queues = await createQueues(options);
  onTestFinished(() => queues.close());
  return { postgres, queues, log };
}

function logOf() {
  const lines: { msg: string }[] = [];
  return {
    write: (line: string) => void lines.push(JSON.parse(line)),
    sentences: () => lines.map(({ msg }) => msg),
  };
}

async function working(): Promise<{ redis: RedisServer; queues: Queues; seen: TargetJob[] }> {
  const redis = await usingRedis();
  const queues = await usingQueues(redis.url);
  const seen: TargetJob[] = [];
  queues.work('calls', {}, async (job) => void seen.push(job));
  await vi.waitUntil(async () => (await queues.health()).isReachable, settled);
  return { redis, queues, seen };
}

async function usingRedis(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.stop());
  return redis;
}

async function usingQueues(
  redisUrl: string,
  write: (line: string) => void = () => {},
  level = 'info',
): Promise<Queues> {
  const log = createLog(level, { write });
  const queues = await createQueues({ redisUrl, databaseUrl: inject('postgresUrl'), log, timing });
  onTestFinished(() => queues.close());
  return queues;
}

async function refusesInTime(queues: Queues): Promise<void> {
  const start = performance.now();
  await expect(queues.enqueue('calls', [job])).rejects.toBeInstanceOf(QueueUnavailable);
  expect(performance.now() - start).toBeLessThan(30_000);
}

async function enqueues(queues: Queues): Promise<boolean> {
  return queues.enqueue('calls', [job]).then(
    () => true,
    () => false,
  );
}
