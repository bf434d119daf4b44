import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalizeNumber } from '../../../src/sandbox/phone-number.ts';
import { digits, formatted } from './phone-numbers.ts';

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

test('only ten digits gain a country code', () => {
  fc.assert(
    fc.property(digits(3, 15), (number) => {
      expect(normalizeNumber(number)).toBe(number.length === 10 ? `1${number}` : number);
    }),
  );
});

test('a normalized number stays as it is', () => {
  fc.assert(
    fc.property(fc.oneof(digits(0, 18), fc.string()), (supplied) => {
      const number = normalizeNumber(supplied);
      fc.pre(number !== null);
      expect(normalizeNumber(number)).toBe(number);
    }),
  );
});

test('formatting never matters', () => {
  const written = digits(0, 18).chain((number) => fc.tuple(fc.constant(number), formatted(number)));
  fc.assert(
    fc.property(written, ([number, supplied]) => {
      expect(normalizeNumber(supplied)).toBe(normalizeNumber(number));
    }),
  );
});

test('a letter anywhere makes it no number', () => {
  const letter = fc.constantFrom(...'abcXYZéא٣');
  fc.assert(
    fc.property(digits(0, 12), letter, digits(0, 12), (before, stranger, after) => {
      expect(normalizeNumber(before + stranger + after)).toBe(null);
    }),
  );
});
