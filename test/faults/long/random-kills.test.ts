import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { backends } from '../../stores/backends.ts';
import { deploy, ourSubscriptions } from '../deployment/deployment.ts';
import { createProgress, report, sized } from '../figures.ts';
import { startStorm } from '../load/storm.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const kills = sized(200);
const deliveries = sized(100_000);

describe.each(backends)('on %s', (backend) => {
  test('loses nothing of very many deliveries while processes are killed at random', async ({ onTestFinished }) => {
    const began = performance.now();
    const progress = createProgress(`random-kills on ${backend}`);
    const random = createRandom(`random ${backend}`);
    const deployment = await deploy({ backend, webs: 2, workers: 2 }, onTestFinished);
    const registered = (await ourSubscriptions(deployment.service, deployment.addresses)).map(({ type }) => type);
    expect(registered.sort(), 'each webhook once, by two webs').toEqual([...wantedTypes].sort());
    const storm = await startStorm(deployment, createRandom(`storm ${backend}`), {
      threads: 100,
      calls: sized(2_000),
    });
    let isOver = false;
    let killed = 0;
    // Neither runs ahead of the other, so that every kill meets a storm.
    const deliveredBy = (kill: number) => (kill * deliveries) / kills;
    const blowing = storm
      .run(deliveries, () => storm.delivered < deliveredBy(killed + 1))
      .finally(() => {
        isOver = true;
      });
    async function strike(): Promise<void> {
      for (; killed < kills; killed += 1) {
        while (!isOver && storm.delivered < deliveredBy(killed)) await sleep(20);
        const victim = random.pick([...deployment.webs, ...deployment.workers]);
        await sleep(random.between(0, 50));
        await victim.crash();
        await victim.start();
        progress(() => `${killed} kills, ${storm.delivered} deliveries`);
      }
    }
    await Promise.all([blowing, strike()]);
    await expectNothingLost(deployment, storm);
    expect(storm.delivered).toBe(deliveries);
    report('random-kills', backend, `${killed} random kills over ${storm.delivered} deliveries`, began);
  }, 3_600_000);
});
