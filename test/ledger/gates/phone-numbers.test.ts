import { expect, test } from 'vitest';
import { isForeignRead, isPhoneNumber } from '../../../src/ledger/gates/phone-numbers.ts';
import { createRandom } from '../../../src/sandbox/random.ts';
import { generateDirectory } from '../../../src/sandbox/seed/directory.ts';
import { normalizeNumber } from '../../../src/shared/numbers.ts';

test.each(
  `0000000000 1111111111 9999999999 5555555555 7378742833 +17378742833 266696687 86282452253 8628245225 7748283 8656696 2562533
   94844353 0125550123 1125550123 2120550123 2121550123 2115550123 9115550123 2129115550 2124115550 1212555012 121255501234 12345
   03612345678 0113612345678 0`.split(/\s+/),
)('%s is no phone number', (text) => {
  const number = normalizeNumber(text);
  // Five digits are refused as a short code.
  expect(isPhoneNumber(number) && number.length > 6).toBe(false);
});

test.each(
  `2125550123 12125550199 13612345678 15552220001 18005550100 447700900123 442079460000 972501234567 3612345678901 525512345678
   64211234567`.split(/\s+/),
)('%s can be one', (number) => {
  expect(isPhoneNumber(normalizeNumber(number))).toBe(true);
});

test('all customers of the sandbox have one', () => {
  const { customers, lines } = generateDirectory(createRandom(3), 2_000);
  expect([...customers, ...lines].filter(({ number }) => !isPhoneNumber(number))).toEqual([]);
});

test.each<[string, string[], boolean]>([
  ['13612345678', ['+3612345678'], true],
  ['13612345678', ['3612345678', '+36 1 234-5678'], true],
  ['13612345678', ['sip:+3612345678@carrier.example'], true],
  ['13612345678', ['011 36 1 234 5678'], true],
  ['13612345678', ['003612345678'], true],
  ['13612345678', ['3612345678'], false],
  ['13612345678', ['+1 361 234 5678', '(361) 234-5678'], false],
  ['13612345678', ['+3699999999'], false],
  ['442079460000', ['+442079460000'], false],
])('%s, shown as %j: of another country %s', (number, callerIds, isForeign) => {
  expect(isForeignRead(number, callerIds)).toBe(isForeign);
});
