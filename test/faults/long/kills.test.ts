import { describe, test } from 'vitest';
import { backends } from '../../../stores/backends.ts';
import { deploy } from '../../deployment/deployment.ts';
import { createProgress, report, sized } from '../../figures.ts';
import { startLoad, steady } from '../../load/load.ts';
import { killAt, killPoints, nameOf } from '../../nemesis/kill-points.ts';
import { expectNothingLost } from '../../oracle/oracle.ts';
import { createRandom } from '../../random.ts';

const times = sized(20);

describe.each(backends)('on %s', (backend) => {
  test('loses nothing when a process is killed at each step, again and again', async ({ onTestFinished }) => {
    const began = performance.now();
    const progress = createProgress(`kills on ${backend}`);
    const deployment = await deploy({ backend, isWired: true }, onTestFinished);
    const load = await startLoad(deployment, createRandom(`points ${backend}`), onTestFinished, steady);
    const points = killPoints(backend);
    for (let time = 0; time < times; time += 1) {
      for (const point of points) {
        await killAt(deployment, point);
        progress(() => `round ${time + 1} of ${times}, ${nameOf(point)}`);
      }
    }
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
    report(
      'kills',
      backend,
      `${points.length} kill points × ${times}, ${load.sender.sent.length} own deliveries`,
      began,
    );
  }, 3_600_000);
});
