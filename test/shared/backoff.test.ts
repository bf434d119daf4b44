import { expect, test } from 'vitest';
import { type Backoff, backoffMs } from '../../src/shared/backoff.ts';

const waits = (backoff: Backoff, chance: number, askedMs?: number) =>
  [1, 2, 3, 4, 5_000].map((retry) => backoffMs(backoff, retry, { askedMs, random: () => chance }));

test.each([
  ['doubles up to its cap', {}, 0.3, [100, 200, 400, 500, 500]],
  ['is drawn from nothing with full jitter', { jitter: 1 }, 0, [0, 0, 0, 0, 0]],
  ['is drawn up to the whole wait with full jitter', { jitter: 1 }, 0.5, [50, 100, 200, 250, 250]],
  ['keeps the part that is not random', { jitter: 0.5 }, 0, [50, 100, 200, 250, 250]],
])('a wait %s', (_, more, chance, expected) => {
  expect(waits({ firstMs: 100, maxMs: 500, ...more }, chance)).toEqual(expected);
});

test('a wait that the server asks for is never cut, and is lengthened a little by jitter', () => {
  expect(waits({ firstMs: 100, maxMs: 500 }, 0.5, 300)).toEqual([300, 300, 400, 500, 500]);
  expect(waits({ firstMs: 100, maxMs: 500, jitter: 1 }, 0.5, 9_000)).toEqual(Array(5).fill(9_050));
});
