import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { type Backend, backends } from '../../../stores/backends.ts';
import { type Deployment, deploy } from '../../deployment/deployment.ts';
import { createProgress, report, sized } from '../../figures.ts';
import { startLoad } from '../../load/load.ts';
import { loseJobs } from '../../nemesis/jobs.ts';
import type { OnOpen } from '../../nemesis/proxy.ts';
import { expectNothingLost } from '../../oracle/oracle.ts';
import { createRandom } from '../../random.ts';

const limit = 3_600_000;

describe.each(backends)('on %s', (backend) => {
  test(
    'loses nothing when Postgres crashes again and again',
    async ({ onTestFinished }) => {
      await campaign('postgres-crashes', backend, sized(50), onTestFinished, async ({ postgres }, pause) => {
        await postgres.crash();
        await pause(0, 400);
        await postgres.start();
      });
    },
    limit,
  );

  test(
    'loses nothing when all jobs are lost again and again',
    async ({ onTestFinished }) => {
      await campaign('lost-jobs', backend, sized(10), onTestFinished, loseJobs);
    },
    limit,
  );
});

test(
  'loses nothing when Redis is killed again and again',
  async ({ onTestFinished }) => {
    await campaign('redis-kills', 'redis', sized(50), onTestFinished, async ({ redis }, pause) => {
      await redis?.crash();
      await pause(0, 400);
      await redis?.start();
    });
  },
  limit,
);

type Strike = (deployment: Deployment, pause: (from: number, to: number) => Promise<void>) => Promise<void>;

async function campaign(name: string, backend: Backend, times: number, onOpen: OnOpen, strike: Strike): Promise<void> {
  const began = performance.now();
  const progress = createProgress(`${name} on ${backend}`);
  const random = createRandom(`${name} ${backend}`);
  const pause = (from: number, to: number) => sleep(random.between(from, to));
  const deployment = await deploy({ backend }, onOpen);
  const load = await startLoad(deployment, random, onOpen);
  for (let time = 0; time < times; time += 1) {
    await load.isAccepted(random.between(1, 5));
    await strike(deployment, pause);
    progress(() => `${time + 1} of ${times}`);
  }
  await load.isAccepted(3);
  await load.finish();
  await expectNothingLost(deployment, load);
  const accepted = await load.accepted();
  report(name, backend, `${times} times under load, ${accepted.length} deliveries accepted`, began);
}
