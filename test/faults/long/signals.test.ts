import { describe, expect, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import type { Part } from '../deployment/part.ts';
import { surviveUnderLoad } from '../load/survive.ts';

/** A platform kills what still runs 30 s after it was told to stop; 5 s of them are kept in reserve. */
const drainLimit = 25_000;

describe.concurrent.each(backends)('on %s', (backend) => {
  test('ends in time with exit code 0 on SIGTERM with work in hand, told once or twice', async ({ onTestFinished }) => {
    await surviveUnderLoad('term', { backend }, onTestFinished, async ({ web, worker, service, load }) => {
      await service.faults({ kind: 'slow', when: 'before', ms: 700 });
      for (const times of [1, 2]) {
        await load.goesOn(25);
        for (const part of [worker, web]) {
          expect(await terminate(part, times), `${part.name}, told ${times} times`).toEqual({ code: 0, signal: null });
          await part.start();
        }
      }
      await service.faults();
    });
  });

  test('goes on where it was after SIGSTOP and SIGCONT', async ({ onTestFinished }) => {
    await surviveUnderLoad('stop', { backend }, onTestFinished, async ({ web, worker, load }) => {
      for (const part of [worker, web]) {
        await load.goesOn(20);
        part.signal('SIGSTOP');
        await load.goesOn(60);
        part.signal('SIGCONT');
      }
    });
  });
});

async function terminate(part: Part, times: number): Promise<unknown> {
  const began = performance.now();
  for (let time = 0; time < times; time += 1) part.signal('SIGTERM');
  const ending = await part.ended();
  expect(performance.now() - began, `time of ${part.name}`).toBeLessThan(drainLimit);
  return ending;
}
