import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalizeNumber } from '../../../src/sandbox/phone-number.ts';
import { countDistinct, type Skipped, selectRecipients } from '../../../src/sandbox/sending/billing.ts';

/** What people put between, before and after the digits of a number. */
const formatting = fc.constantFrom('', '', '', ' ', '-', '.', '(', ')', '+', '\u2011', '\u2013', '\u00a0', '\t', ') ');

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

/** The same digits, written in some other way. */
function formatted(number: string): fc.Arbitrary<string> {
  const characters = [...number];
  return fc
    .array(formatting, { minLength: characters.length + 1, maxLength: characters.length + 1 })
    .map(([first = '', ...after]) => first + characters.map((digit, index) => digit + after[index]).join(''));
}

test.each([
  ['(212) 555-0100', '12125550100'],
  ['+1 212.555.0100', '12125550100'],
  ['+44 20 7946 0000', '442079460000'],
  ['911', '911'],
  ['12', null],
  ['123456789012345', '123456789012345'],
  ['1234567890123456', null],
  ['1-800-FLOWERS', null],
  ['212555010０', null],
  ['', null],
])('%j is %j', (supplied, number) => {
  expect(normalizeNumber(supplied)).toBe(number);
});

test('formatting never matters', () => {
  const written = digits(0, 18).chain((number) => fc.tuple(fc.constant(number), formatted(number)));
  fc.assert(
    fc.property(written, ([number, supplied]) => {
      expect(normalizeNumber(supplied)).toBe(normalizeNumber(number));
    }),
  );
});

const ann = '12125550100';
const bob = '442079460000';
const nobody = () => false;

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
