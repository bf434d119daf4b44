import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sortedSlice } from '../../../src/sandbox/api/call-search.ts';

test('gives the slice that sorting everything would give', () => {
  const keys = fc.array(fc.oneof(fc.nat(5), fc.nat(1e6)), { maxLength: 200 });
  fc.assert(
    fc.property(keys, fc.nat(250), fc.nat(60), (values, from, count) => {
      const order = (one: number, other: number) => (values[one] ?? 0) - (values[other] ?? 0) || one - other;
      const to = Math.min(from + count, values.length);
      const expected = [...values.keys()].sort(order).slice(from, Math.max(from, to));
      expect([...sortedSlice(Uint32Array.from(values.keys()), from, to, order)]).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['rising', (at: number) => at],
  ['falling', (at: number) => -at],
  ['equal but for their place', () => 0],
])('asks the order a few times for each of a hundred thousand %s items', (_, key) => {
  let asked = 0;
  const order = (one: number, other: number) => {
    asked++;
    return key(one) - key(other) || other - one;
  };
  const items = Uint32Array.from({ length: 100_000 }, (_item, at) => at);
  expect(sortedSlice(items, 50_000, 50_500, order)).toHaveLength(500);
  expect(asked).toBeLessThan(1_000_000);
});
