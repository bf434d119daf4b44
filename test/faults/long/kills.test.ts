import { describe, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { createProgress, report, sized } from '../figures.ts';
import { steady } from '../load/load.ts';
import { surviveUnderLoad } from '../load/survive.ts';
import { killAt, killPoints, nameOf } from '../nemesis/kill-points.ts';

const times = sized(20);

describe.each(backends)('on %s', (backend) => {
  test('loses nothing when a process is killed at each step, again and again', async ({ onTestFinished }) => {
    const began = performance.now();
    const progress = createProgress(`kills on ${backend}`);
    const points = killPoints(backend);
    const shape = { backend, isWired: true, pace: steady };
    const { sender } = await surviveUnderLoad('points', shape, onTestFinished, async (deployment) => {
      for (let time = 0; time < times; time += 1) {
        for (const point of points) {
          await killAt(deployment, point);
          progress(() => `round ${time + 1} of ${times}, ${nameOf(point)}`);
        }
      }
    });
    report('kills', backend, `${points.length} kill points × ${times}, ${sender.sent.length} own deliveries`, began);
  }, 3_600_000);
});
