import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import type { Deployment } from './deployment/deployment.ts';
import type { RedisStore } from './deployment/stores.ts';
import { deployForSuite } from './deployment/suite.ts';
import { startLoad } from './load/load.ts';
import { isAccepted, type Sent } from './load/sender.ts';
import { expectNothingLost } from './oracle/oracle.ts';
import { createRandom } from './random.ts';

describe('on redis', () => {
  const deployment = deployForSuite({ backend: 'redis' });

  test('loses nothing when Redis is flushed under load', async ({ onTestFinished }) => {
    const random = createRandom('flush');
    const load = await startLoad(deployment(), random, onTestFinished);
    const client = new Redis(redisOf(deployment()).url);
    onTestFinished(() => client.disconnect());
    for (let flush = 0; flush < 4; flush += 1) {
      await load.goesOn(random.between(10, 30));
      await client.flushall();
    }
    await load.finish();
    await expectNothingLost(deployment(), load);
  });

  test('goes on accepting while Redis is killed, and mirrors all of it when Redis is back', async ({
    onTestFinished,
  }) => {
    const load = await startLoad(deployment(), createRandom('redis'), onTestFinished);
    const redis = redisOf(deployment());
    await load.isAccepted(3);
    await redis.crash();
    const during = await answersUntil(load.sender.sent, () => load.isAccepted(10));
    await redis.start();
    await load.isAccepted(3);
    await load.finish();
    expect(during.filter((each) => !isAccepted(each))).toEqual([]);
    await expectNothingLost(deployment(), load);
  });

  test('goes on accepting while Redis hangs, and mirrors all of it when Redis answers again', async ({
    onTestFinished,
  }) => {
    const load = await startLoad(deployment(), createRandom('hang'), onTestFinished);
    const redis = redisOf(deployment());
    onTestFinished(() => redis.thaw());
    await load.isAccepted(3);
    await redis.freeze();
    const during = await answersUntil(load.sender.sent, () => load.isAccepted(30));
    await redis.thaw();
    await load.finish();
    expect(during.filter((each) => !isAccepted(each))).toEqual([]);
    await expectNothingLost(deployment(), load);
  });
}, 90_000);

describe('on postgres', () => {
  const deployment = deployForSuite({ backend: 'postgres' });

  test('loses nothing when all jobs are deleted under load', async ({ onTestFinished }) => {
    const random = createRandom('jobs');
    const load = await startLoad(deployment(), random, onTestFinished);
    for (let loss = 0; loss < 4; loss += 1) {
      await load.goesOn(random.between(10, 30));
      await forgetJobs(deployment());
    }
    await load.finish();
    await expectNothingLost(deployment(), load);
  });
}, 90_000);

function redisOf({ redis }: Deployment): RedisStore {
  if (redis === undefined) throw new Error('this deployment has no Redis');
  return redis;
}

/** The answers to deliveries that began while something lasted. */
async function answersUntil(sent: readonly Sent[], lasts: () => Promise<void>): Promise<Sent[]> {
  const from = performance.now();
  await lasts();
  const to = performance.now();
  return sent.filter(({ began }) => began >= from && began <= to);
}

/** Empties the tables that hold the jobs, what waits behind them, and who they stand for. */
async function forgetJobs({ database }: Deployment): Promise<void> {
  for (const table of ['job', 'dedup', 'dedup_next']) {
    // The queues take their locks in an order of their own: a deletion that meets them is tried again.
    await vi.waitUntil(() => database.query(`delete from bullmq.${table}`).catch(() => undefined), { interval: 20 });
  }
}
