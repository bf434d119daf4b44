import { expect, test } from 'vitest';
import { createRinger } from '../../src/inbox/ringer.ts';
import type { Target } from '../../src/inbox/target.ts';
import { createLog } from '../../src/log.ts';
import type { Bell } from '../../src/queues/bell.ts';
import { captureLog } from '../world/log.ts';
import { until } from '../world.ts';

const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
const now = (target: Target) => ({ ...target, afterMs: 0 });

/** A ringer at a queue that writes down what it is told, when `answer` lets it. */
function openRinger(answer: (batch: number) => Promise<void> = async () => undefined) {
  const batches: (readonly Bell[])[] = [];
  const ringer = createRinger({ ring: (_queue, bells) => answer(batches.push(bells)) }, createLog('silent'));
  return { ringer, batches };
}

test('bells of one turn travel together, each target once', async () => {
  const { ringer, batches } = openRinger();
  ringer.ring([now(call(1)), now(call(2))]);
  ringer.ring([now(call(1))]);
  await ringer.idle();
  expect(batches).toEqual([[call(1), call(2)]]);
});

test('a bell for later is rung then', async () => {
  const { ringer, batches } = openRinger();
  const began = performance.now();
  ringer.ring([{ ...call(1), afterMs: 60 }]);
  await until(() => batches.length === 1);
  expect(performance.now() - began).toBeGreaterThanOrEqual(55);
});

test('a bell that is brought forward is rung at the earlier time', async () => {
  const { ringer, batches } = openRinger();
  ringer.ring([{ ...call(1), afterMs: 3_600_000 }]);
  ringer.ring([{ ...call(1), afterMs: 40 }]);
  await until(() => batches.length === 1);
  await ringer.close();
});

test('a bell that comes just when the last one was rung is rung too', async () => {
  const rung = Promise.withResolvers<void>();
  const { ringer, batches } = openRinger(() => rung.promise);
  ringer.ring([now(call(1))]);
  await until(() => batches.length === 1);
  void rung.promise.then(() => ringer.ring([now(call(2))]));
  rung.resolve();
  await ringer.idle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches.flat()).toEqual([call(1), call(2)]);
});

test('a queue that takes no bells is spoken of once, and again when it does', async () => {
  const { log, text } = captureLog();
  let isAway = true;
  const ringer = createRinger(
    {
      ring: async () => {
        if (isAway) throw new Error('away');
      },
    },
    log,
  );
  for (let number = 0; number < 3; number += 1) {
    ringer.ring([now(call(number))]);
    await ringer.idle();
  }
  isAway = false;
  ringer.ring([now(call(9))]);
  await ringer.idle();
  expect(text().match(/takes no bells/g)).toHaveLength(1);
  expect(text().match(/takes bells again/g)).toHaveLength(1);
});

test('closing rings no more bells for later', async () => {
  const { ringer, batches } = openRinger();
  ringer.ring([{ ...call(1), afterMs: 30 }]);
  await ringer.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(batches).toEqual([]);
});
