import { expect, test } from 'vitest';
import { createNotifier } from '../../src/inbox/notifier.ts';
import type { Target } from '../../src/inbox/targets.ts';
import type { TargetJob } from '../../src/queues/backend.ts';
import { createLog } from '../../src/shared/log.ts';
import { captureLog } from '../world/log.ts';
import { until } from '../world.ts';

const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
const now = (target: Target) => ({ ...target, afterMs: 0 });

/** A notifier at a queue that writes down what it is told, when `answer` lets it. */
function openNotifier(answer: (batch: number) => Promise<void> = async () => undefined) {
  const batches: (readonly TargetJob[])[] = [];
  const notifier = createNotifier({ enqueue: (_queue, jobs) => answer(batches.push(jobs)) }, createLog('silent'));
  return { notifier, batches };
}

test('targets marked in one turn of the event loop are enqueued together, each once', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([now(call(1)), now(call(2))]);
  notifier.notify([now(call(1))]);
  await notifier.idle();
  expect(batches).toEqual([[call(1), call(2)]]);
});

test('a job for later is enqueued then', async () => {
  const { notifier, batches } = openNotifier();
  const began = performance.now();
  notifier.notify([{ ...call(1), afterMs: 60 }]);
  await until(() => batches.length === 1);
  expect(performance.now() - began).toBeGreaterThanOrEqual(55);
});

test('a job that is brought forward is enqueued at the earlier time', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([{ ...call(1), afterMs: 3_600_000 }]);
  notifier.notify([{ ...call(1), afterMs: 40 }]);
  await until(() => batches.length === 1);
  await notifier.close();
});

test('a job that comes while the last one is being enqueued is enqueued too', async () => {
  const enqueued = Promise.withResolvers<void>();
  const { notifier, batches } = openNotifier(() => enqueued.promise);
  notifier.notify([now(call(1))]);
  await until(() => batches.length === 1);
  void enqueued.promise.then(() => notifier.notify([now(call(2))]));
  enqueued.resolve();
  await notifier.idle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches.flat()).toEqual([call(1), call(2)]);
});

test('a queue that accepts no jobs is logged once, and again when it does', async () => {
  const { log, text } = captureLog();
  let isAway = true;
  const notifier = createNotifier(
    {
      enqueue: async () => {
        if (isAway) throw new Error('away');
      },
    },
    log,
  );
  for (let number = 0; number < 3; number += 1) {
    notifier.notify([now(call(number))]);
    await notifier.idle();
  }
  isAway = false;
  notifier.notify([now(call(9))]);
  await notifier.idle();
  expect(text().match(/accepts no jobs/g)).toHaveLength(1);
  expect(text().match(/accepts jobs again/g)).toHaveLength(1);
});

test('closing enqueues no more jobs for later', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([{ ...call(1), afterMs: 30 }]);
  await notifier.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(batches).toEqual([]);
});
