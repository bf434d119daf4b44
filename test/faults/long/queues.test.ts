import { describe, expect, test } from 'vitest';
import type { Deployment } from '../deployment/deployment.ts';
import type { RedisStore } from '../deployment/stores.ts';
import { deployForSuite } from '../deployment/suite.ts';
import { startLoad } from '../load/load.ts';
import { isAccepted } from '../load/sender.ts';
import { loseJobs } from '../nemesis/jobs.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom, type Random } from '../random.ts';

describe('on redis', () => {
  const deployment = deployForSuite({ backend: 'redis' });

  test('loses nothing when Redis is flushed under load', ({ onTestFinished }) =>
    losesNothingWithoutJobs(deployment(), createRandom('flush'), onTestFinished));

  test('goes on accepting while Redis is killed, and mirrors all of it when Redis is back', async ({
    onTestFinished,
  }) => {
    const load = await startLoad(deployment(), createRandom('redis'), onTestFinished);
    const redis = redisOf(deployment());
    await load.isAccepted(3);
    await redis.crash();
    const during = await load.sentDuring(() => load.isAccepted(10));
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
    const during = await load.sentDuring(() => load.isAccepted(30));
    await redis.thaw();
    await load.finish();
    expect(during.filter((each) => !isAccepted(each))).toEqual([]);
    await expectNothingLost(deployment(), load);
  });
});

describe('on postgres', () => {
  const deployment = deployForSuite({ backend: 'postgres' });

  test('loses nothing when all jobs are deleted under load', ({ onTestFinished }) =>
    losesNothingWithoutJobs(deployment(), createRandom('jobs'), onTestFinished));
});

async function losesNothingWithoutJobs(deployment: Deployment, random: Random, onOpen: OnOpen): Promise<void> {
  const load = await startLoad(deployment, random, onOpen);
  for (let loss = 0; loss < 4; loss += 1) {
    await load.goesOn(random.between(10, 30));
    await loseJobs(deployment);
  }
  await load.finish();
  await expectNothingLost(deployment, load);
}

function redisOf({ redis }: Deployment): RedisStore {
  if (redis === undefined) throw new Error('this deployment has no Redis');
  return redis;
}
