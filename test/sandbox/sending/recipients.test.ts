import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countDistinct, type Skipped, selectRecipients } from '../../../src/sandbox/sending/billing.ts';
import { formatted } from './phone-numbers.ts';

const ann = '12125550100';
const bob = '442079460000';
const nobody = () => false;

test('reaches each number once, normalized, in the order supplied', () => {
  expect(selectRecipients(['+44 20 7946 0000', '(212) 555-0100'], nobody)).toEqual({
    reached: [bob, ann],
    skipped: [],
  });
});

test('names every later spelling of a number a duplicate, as supplied', () => {
  expect(selectRecipients(['2125550100', '+1 (212) 555-0100', ann], nobody)).toEqual({
    reached: [ann],
    skipped: [
      { to: '+1 (212) 555-0100', reason: 'duplicate' },
      { to: ann, reason: 'duplicate' },
    ],
  });
});

test('opted out goes before duplicate', () => {
  expect(selectRecipients([ann, '212-555-0100'], (number) => number === ann)).toEqual({
    reached: [],
    skipped: [
      { to: ann, reason: 'opted_out' },
      { to: '212-555-0100', reason: 'opted_out' },
    ],
  });
});

test.each([
  '',
  '   ',
  '12',
  '12345',
  '911',
  '0000000000',
  '1111111111',
  '0442079460000',
  '1'.repeat(16),
  '1-800-FLOWERS',
  'Ann',
  '#31#212',
  '212/5550100',
  '٢١٢٥٥٥٠١٠٠',
])('%j cannot be dialled, however often it is supplied', (to) => {
  const invalid = { to, reason: 'invalid' };
  expect(selectRecipients([to, ann, to], nobody)).toEqual({ reached: [ann], skipped: [invalid, invalid] });
});

test('asks about opt-outs with normalized numbers only', () => {
  const asked: string[] = [];
  selectRecipients(['(212) 555-0100', 'Ann', bob], (number) => asked.push(number) === 0);
  expect(asked).toEqual([ann, bob]);
});

test('skips in the order supplied, whatever the reasons', () => {
  const { skipped } = selectRecipients(['x', bob, ann, bob, 'y', ann], (number) => number === ann);
  expect(skipped.map(({ to, reason }) => `${to} ${reason}`)).toEqual([
    'x invalid',
    `${ann} opted_out`,
    `${bob} duplicate`,
    'y invalid',
    `${ann} opted_out`,
  ]);
});

test.each([
  [[], 0],
  [[ann, '212.555.0100'], 1],
  [[ann, bob, 'Ann', 'Ann', 'Bob'], 4],
])('%j are %i distinct', (to, count) => {
  expect(countDistinct(to)).toBe(count);
});

/** A few numbers, so that they meet again; each with what it is known to be, and as somebody wrote it. */
const numbers = ['12125550100', '12125550101', '442079460000', '97235551234', '2125550100'];
const entry = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(...numbers).chain((number) => fc.tuple(fc.constant(number), formatted(number))),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant(null), fc.constantFrom('', '7', 'Ann', '1'.repeat(16), '+1 212 CALL')) },
);

test('sorts as a plain reading, recipient by recipient, does', () => {
  const identity = (number: string) => (number === '2125550100' ? ann : number);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), fc.subarray(numbers.slice(0, 4)), (entries, stopped) => {
      const reached: string[] = [];
      const skipped: Skipped[] = [];
      for (const [index, [digits, to]] of entries.entries()) {
        const earlier = entries.slice(0, index).map(([other]) => other && identity(other));
        const number = digits && identity(digits);
        if (number && stopped.includes(number)) skipped.push({ to, reason: 'opted_out' });
        else if (number && earlier.includes(number)) skipped.push({ to, reason: 'duplicate' });
        else if (number) reached.push(number);
        else skipped.push({ to, reason: 'invalid' });
      }
      const to = entries.map(([, supplied]) => supplied);
      expect(selectRecipients(to, (number) => stopped.includes(number))).toEqual({ reached, skipped });
    }),
    { numRuns: 500 },
  );
});

test('accounts for every recipient exactly once', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          entry.map(([, to]) => to),
        ),
      ),
      fc.func(fc.boolean()),
      (to, isOptedOut) => {
        const { reached, skipped } = selectRecipients(to, isOptedOut);
        expect(reached.length + skipped.length).toBe(to.length);
        expect(new Set(reached).size).toBe(reached.length);
      },
    ),
  );
});
