import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBatch } from '../../src/shared/batch.ts';

/** A flush that the test ends when it wants, and what came with each. */
function heldFlushes() {
  const flushes: { items: readonly number[]; end: PromiseWithResolvers<readonly number[]> }[] = [];
  const flush = (items: readonly number[]) => {
    const end = Promise.withResolvers<readonly number[]>();
    flushes.push({ items, end });
    return end.promise;
  };
  const end = (at: number) => {
    const { items, end: ending } = flushes[at] ?? { items: [], end: Promise.withResolvers<readonly number[]>() };
    ending.resolve(items.map((item) => item * 10));
  };
  return { flushes, flush, end };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('items of one turn travel together', async () => {
  const { flushes, flush, end } = heldFlushes();
  const batch = createBatch(flush, { inFlight: 1, max: 10 });
  const all = Promise.all([batch.add(1), batch.add(2), batch.add(3)]);
  await nextTurn();
  expect(flushes.map(({ items }) => items)).toEqual([[1, 2, 3]]);
  end(0);
  expect(await all).toEqual([10, 20, 30]);
});

test('what comes during the flushes waits for the next and goes in one', async () => {
  const { flushes, flush, end } = heldFlushes();
  const batch = createBatch(flush, { inFlight: 2, max: 10 });
  const all: Promise<number>[] = [];
  for (const item of [1, 2, 3, 4]) {
    all.push(batch.add(item));
    await nextTurn();
  }
  expect(flushes.map(({ items }) => items)).toEqual([[1], [2]]);
  expect(batch.waiting).toBe(2);
  end(1);
  await nextTurn();
  expect(flushes[2]?.items).toEqual([3, 4]);
  end(0);
  end(2);
  expect(await Promise.all(all)).toEqual([10, 20, 30, 40]);
});

test('no flush is larger than the most', async () => {
  const sizes: number[] = [];
  const batch = createBatch<number, number>(
    async (items) => {
      sizes.push(items.length);
      return items;
    },
    { inFlight: 1, max: 3 },
  );
  expect(await Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => batch.add(item)))).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(sizes).toEqual([3, 3, 1]);
});

test('a flush that fails rejects its own items alone', async () => {
  const batch = createBatch<number, number>(
    async (items) => {
      if (items.includes(13)) throw new Error('unlucky');
      return items;
    },
    { inFlight: 1, max: 1 },
  );
  const outcomes = await Promise.allSettled([batch.add(1), batch.add(13), batch.add(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a flush that throws at once rejects its items', async () => {
  const batch = createBatch<number, number>(
    () => {
      throw new Error('at once');
    },
    { inFlight: 1, max: 10 },
  );
  await expect(batch.add(1)).rejects.toThrow('at once');
  await batch.idle();
});

test('idle waits for what waits and what runs', async () => {
  const { flush, end } = heldFlushes();
  const batch = createBatch(flush, { inFlight: 1, max: 1 });
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
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 20 }),
      async (scheduler, inFlight, most, count) => {
        const batch = createBatch<number, number>(
          (items) => scheduler.schedule(Promise.resolve(items.map((item) => item * 10))),
          { inFlight, max: most },
        );
        const added = Array.from({ length: count }, (_, item) => batch.add(item));
        const all = Promise.all(added);
        await scheduler.waitFor(all);
        expect(await all).toEqual(Array.from({ length: count }, (_, item) => item * 10));
      },
    ),
    { numRuns: 50 },
  );
});
