import fc from 'fast-check';
import { expect, test } from 'vitest';
import { optOutChange } from '../../../src/sandbox/sending/carrier.ts';

const out = ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'];
const back = ['START', 'UNSTOP', 'YES'];

test.each<[string, 'out' | 'in' | null]>([
  ...out.map((word): [string, 'out'] => [word, 'out']),
  ...back.map((word): [string, 'in'] => [word, 'in']),
  ['stop', 'out'],
  ['  Stop. ', 'out'],
  ['"STOP!!"', 'out'],
  ['¡stop!\r\n', 'out'],
  ['yes…', 'in'],
  ['', null],
  ['...', null],
  ['HELP', null],
  ['stop by at 5', null],
  ['please stop', null],
  ['STOP STOP', null],
  ['S.T.O.P', null],
  ['STOPS', null],
  ['nonstop', null],
  ['STOP 1', null],
  ['ſtop', null],
  ['stóp', null],
  ['ﬆop', null],
  ['constructor', null],
])('%j: %s', (text, change) => {
  expect(optOutChange(text)).toBe(change);
});

const around = fc.string({ unit: fc.constantFrom(...' \n\t\u00a0.,!?"\'()-–…“”*#'), maxLength: 6 });

test('neither case nor what stands around the word matters', () => {
  const spelled = fc
    .constantFrom(...out, ...back)
    .chain((word) => fc.tuple(fc.constant(word), fc.mixedCase(fc.constant(word.toLowerCase()))));
  fc.assert(
    fc.property(around, spelled, around, (before, [word, written], after) => {
      expect(optOutChange(before + written + after)).toBe(out.includes(word) ? 'out' : 'in');
    }),
  );
});

test('a word more changes nothing', () => {
  const word = fc.string({ unit: fc.constantFrom(...'abcdé5א'), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.constantFrom(...out, ...back), word, fc.boolean(), (keyword, other, isBefore) => {
      expect(optOutChange(isBefore ? `${other} ${keyword}` : `${keyword} ${other}`)).toBe(null);
    }),
  );
});
