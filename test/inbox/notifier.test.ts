import { expect, test, vi } from 'vitest';
import { createNotifier } from '../../src/inbox/notifier.ts';
import type { TargetJob } from '../../src/queues/backend.ts';
import { captureLog } from '../world/log.ts';
import { until } from '../world.ts';

// The rest after a failure, a hundredth of its time.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms / 100)),
}));

const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
const due = (number: number, afterMs = 0) => ({ ...call(number), afterMs });

/** A notifier at a queue that writes down what it is told, when `answer` lets it. */
function openNotifier(answer: (batch: number) => Promise<void> = async () => undefined) {
  const batches: (readonly TargetJob[])[] = [];
  const { log, text } = captureLog();
  const notifier = createNotifier({ enqueue: (_queue, jobs) => answer(batches.push(jobs)) }, log);
  return { notifier, batches, text };
}

test('targets marked in one turn of the event loop are enqueued together, each once', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([due(1), due(2)]);
  notifier.notify([due(1)]);
  await notifier.idle();
  expect(batches).toEqual([[call(1), call(2)]]);
});

test('a job for later is enqueued then', async () => {
  const { notifier, batches } = openNotifier();
  const began = performance.now();
  notifier.notify([due(1, 60)]);
  await until(() => batches.length === 1);
  expect(performance.now() - began).toBeGreaterThanOrEqual(55);
});

test('a job that is brought forward is enqueued at the earlier time', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([due(1, 3_600_000)]);
  notifier.notify([due(1, 40)]);
  await until(() => batches.length === 1);
  await notifier.close();
});

test('a job that comes while the last one is being enqueued is enqueued too', async () => {
  const enqueued = Promise.withResolvers<void>();
  const { notifier, batches } = openNotifier(() => enqueued.promise);
  notifier.notify([due(1)]);
  await until(() => batches.length === 1);
  void enqueued.promise.then(() => notifier.notify([due(2)]));
  enqueued.resolve();
  await notifier.idle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches.flat()).toEqual([call(1), call(2)]);
});

test('a queue that accepts no jobs is logged once, and again when it does', async () => {
  const { notifier, text } = openNotifier(async (batch) => {
    if (batch <= 3) throw new Error('away');
  });
  for (const number of [1, 2, 3, 9]) {
    notifier.notify([due(number)]);
    await notifier.idle();
  }
  expect(text().match(/accepts no jobs/g)).toHaveLength(1);
  expect(text().match(/accepts jobs again/g)).toHaveLength(1);
});

test('closing enqueues no more jobs for later', async () => {
  const { notifier, batches } = openNotifier();
  notifier.notify([due(1, 30)]);
  await notifier.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(batches).toEqual([]);
});
