import { describe, expect, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { deploy } from '../deployment/deployment.ts';
import { startLoad } from '../load/load.ts';
import type { Sent } from '../load/sender.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const crashes = 2;

// Together, since most of their time is spent waiting until the lock of what was in hand is over.
describe.concurrent.each(backends)('on %s', (backend) => {
  test('loses nothing that it answered 2xx when the web process is killed under load', async ({ onTestFinished }) => {
    const random = createRandom(`web ${backend}`);
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, random, onTestFinished);
    for (let crash = 0; crash < crashes; crash += 1) {
      await load.isAccepted(random.between(3, 10));
      await deployment.web.crash();
      await load.isRefused(random.between(1, 4));
      await deployment.web.start();
    }
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses nothing when workers are killed under load', async ({ onTestFinished }) => {
    const random = createRandom(`worker ${backend}`);
    const deployment = await deploy({ backend, workers: 2 }, onTestFinished);
    const load = await startLoad(deployment, random, onTestFinished);
    for (let crash = 0; crash < crashes; crash += 1) {
      await load.goesOn(random.between(20, 50));
      const killed = random.pick(deployment.workers);
      await killed.crash();
      await load.goesOn(random.between(5, 20));
      await killed.start();
    }
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses nothing when a worker is killed again and again in a backlog', async ({ onTestFinished }) => {
    const random = createRandom(`backlog ${backend}`);
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, random, onTestFinished);
    await deployment.worker.crash();
    await load.goesOn(1_000);
    for (let crash = 0; crash < crashes; crash += 1) {
      await deployment.worker.start();
      await load.goesOn(random.between(5, 30));
      await deployment.worker.crash();
    }
    await deployment.worker.start();
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('answers 503 while Postgres is gone, and recovers by itself with nothing lost', async ({ onTestFinished }) => {
    const random = createRandom(`postgres ${backend}`);
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, random, onTestFinished);
    const meanwhile: Sent[] = [];
    for (let crash = 0; crash < crashes; crash += 1) {
      await load.isAccepted(random.between(3, 10));
      await deployment.postgres.crash();
      meanwhile.push(...(await load.sentDuring(() => load.isRefused(random.between(5, 25)))));
      await deployment.postgres.start();
    }
    await load.isAccepted(3);
    await load.finish();
    expect(meanwhile.length).toBeGreaterThanOrEqual(crashes);
    expect(meanwhile.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([]);
    await expectNothingLost(deployment, load);
  });
});
