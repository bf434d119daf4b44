import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxSegments } from '../../src/ledger/budgets.ts';
import { countSegments } from '../../src/sandbox/sending/billing.ts';

const characters = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...'abc XYZ 019 .,!?\n'.split('')) },
  { weight: 2, arbitrary: fc.constantFrom(...'[]{}\\^~|€éèùìòáíóúàçÇñÑΔΦ¿'.split('')) },
  { weight: 1, arbitrary: fc.constantFrom('😀', '👨‍👩‍👧', '“', '—', 'ש', 'é', '`', '\f', '\u0000') },
);

test('is never less than what a text is billed as, whatever it is made of', () => {
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 700 }), (parts) => {
      const text = parts.join('');
      return maxSegments(text) >= countSegments(text).segments;
    }),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...'abc [€'.split('')), { minLength: 140, maxLength: 700 }), (parts) => {
      const text = parts.join('');
      return maxSegments(text) >= countSegments(text).segments;
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  { what: 'plain text of one segment', text: 'a'.repeat(160), segments: 1 },
  { what: 'one character more', text: 'a'.repeat(161), segments: 2 },
  { what: 'acute vowels, by the real alphabet', text: 'á'.repeat(71), segments: 2 },
  { what: 'Hebrew of one segment', text: 'ש'.repeat(70), segments: 1 },
  { what: 'nothing', text: '', segments: 0 },
])('$what', ({ text, segments }) => {
  expect(maxSegments(text)).toBe(segments);
});
