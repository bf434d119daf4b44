import { expect, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { deploy } from '../deployment/deployment.ts';
import { startLoad } from '../load/load.ts';
import { killAt } from '../nemesis/kill.ts';
import { killPoints } from '../nemesis/kill-points.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

test.each(backends)('there are 25 points to kill a process at, on %s', (backend) => {
  expect(killPoints(backend)).toHaveLength(25);
});

test('loses nothing when a process is killed once at each step of a delivery', async ({ onTestFinished }) => {
  const deployment = await deploy({ backend: 'redis', isWired: true }, onTestFinished);
  const random = createRandom('steps');
  const load = await startLoad(deployment, random, onTestFinished);
  const steps = Map.groupBy(killPoints('redis'), ({ step }) => step);
  for (const points of steps.values()) await killAt(deployment, random.pick(points));
  await load.isAccepted(3);
  await load.finish();
  await expectNothingLost(deployment, load);
});
