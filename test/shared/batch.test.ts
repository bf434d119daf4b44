import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBatch } from '../../src/shared/batch.ts';

/** A batch whose flushes the test ends when it wants; each item comes back ten times as large. */
function heldBatch(limits: { inFlight: number; max: number }) {
  const flushes: { items: readonly number[]; end: () => void }[] = [];
  const batch = createBatch<number, number>((items) => {
    const { promise, resolve } = Promise.withResolvers<readonly number[]>();
    flushes.push({ items, end: () => resolve(items.map((item) => item * 10)) });
    return promise;
  }, limits);
  const flushed = () => flushes.map(({ items }) => items.join(' '));
  return { batch, flushed, end: (at: number) => flushes[at]?.end() };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('items of one turn travel together', async () => {
  const { batch, flushed, end } = heldBatch({ inFlight: 1, max: 10 });
  const all = Promise.all([1, 2, 3].map((item) => batch.add(item)));
  await nextTurn();
  expect(flushed()).toEqual(['1 2 3']);
  end(0);
  expect(await all).toEqual([10, 20, 30]);
});

test('what comes during the flushes waits for the next and goes in one', async () => {
  const { batch, flushed, end } = heldBatch({ inFlight: 2, max: 10 });
  const all: Promise<number>[] = [];
  for (const item of [1, 2, 3, 4]) {
    all.push(batch.add(item));
    await nextTurn();
  }
  expect(flushed()).toEqual(['1', '2']);
  expect(batch.waiting).toBe(2);
  end(1);
  await nextTurn();
  expect(flushed()[2]).toBe('3 4');
  end(0);
  end(2);
  expect(await Promise.all(all)).toEqual([10, 20, 30, 40]);
});

test('no flush is larger than the most', async () => {
  const sizes: number[] = [];
  const flush = async (items: readonly number[]) => {
    sizes.push(items.length);
    return items;
  };
  const batch = createBatch<number, number>(flush, { inFlight: 1, max: 3 });
  expect(await Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => batch.add(item)))).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(sizes).toEqual([3, 3, 1]);
});

test.each<[string, (items: readonly number[]) => Promise<readonly number[]>]>([
  ['rejects', async (items) => (items.includes(13) ? Promise.reject(new Error('unlucky')) : items)],
  [
    'throws at once',
    (items) => {
      if (items.includes(13)) throw new Error('unlucky');
      return Promise.resolve(items);
    },
  ],
])('a flush that %s fails its own items alone', async (_how, flush) => {
  const batch = createBatch<number, number>(flush, { inFlight: 1, max: 1 });
  const outcomes = await Promise.allSettled([batch.add(1), batch.add(13), batch.add(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await batch.idle();
});

test('idle waits for what waits and what runs', async () => {
  const { batch, end } = heldBatch({ inFlight: 1, max: 1 });
  await batch.idle();
  const all = [batch.add(1), batch.add(2)];
  let isIdle = false;
  const idle = batch.idle().then(() => {
    isIdle = true;
  });
  await nextTurn();
  end(0);
  await nextTurn();
  expect(isIdle).toBe(false);
  end(1);
  await idle;
  await Promise.all(all);
});

test('every item gets its own result, whatever the limits and the timing', async () => {
  const up = (max: number) => fc.integer({ min: 1, max });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), up(3), up(5), up(20), async (scheduler, inFlight, max, count) => {
      const batch = createBatch<number, number>(
        (items) => scheduler.schedule(Promise.resolve(items.map((item) => item * 10))),
        { inFlight, max },
      );
      const items = Array.from({ length: count }, (_, item) => item);
      const all = Promise.all(items.map((item) => batch.add(item)));
      await scheduler.waitFor(all);
      expect(await all).toEqual(items.map((item) => item * 10));
    }),
    { numRuns: 50 },
  );
});
