import { expect, test } from 'vitest';
import { createRandom } from '../../src/sandbox/random.ts';
import { generateDirectory } from '../../src/sandbox/seed/directory.ts';
import { normalizeNumber } from '../../src/shared/numbers.ts';
import { isForeignRead, isPhoneNumber, sameNumbers, typedNumber } from '../../src/warehouse/phone-numbers.ts';

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

test.each([
  ["'12125550123", '12125550123'],
  ['tel:+1-212-555-0123', '12125550123'],
  [' (212) 555.0123 ', '12125550123'],
  ['1/212/5550123', '12125550123'],
  ['+44 (0)20 7946 0958', '442079460958'],
  ['0044 20 7946 0958', '442079460958'],
  ['011 44 2079460958', '442079460958'],
  ['٠٠٤٤٢٠٧٩٤٦٠٩٥٨', '442079460958'],
  ['＋１ ２１２ ５５５ ０１２３', '12125550123'],
  ['440 207 9460', '14402079460'],
  ['+33.6.12.34.56.78', '33612345678'],
  ['+49 89 1234567-89', '4989123456789'],
  ['+290 22345', '29022345'],
  ['+212 555 0123 45', '212555012345'],
  ['380 67 123 45 67', '380671234567'],
])('%j is the number %s', (typed, number) => {
  expect(typedNumber(typed)).toEqual({ number });
});

test.each([
  // What spreadsheets make of a number.
  ...[
    '2125550123.0',
    '+12125550123.00',
    '612345678.0',
    '2125550123,00',
    '2,125,550,123',
    '2.13E+09',
    '1.2125550123E10',
  ],
  ...['########', '#N/A', '2026-11-01'],
  // More than one.
  ...['212 555 0123 / 212 555 0199', '5550123 5550199', '555-0123/555-0199', '555 0123 555 0199', '2125550123/0199'],
  ...['2125550123;2125550199', '+12125550123 +12125550199', '2125550123 or 2125550199'],
  // Part of one, or what nobody can have.
  ...['5556001', '212555012', '+5556001', '020 7946 0958', '0000000000', '1783385492', '12345678901234567'],
  ...['21255501231234'],
  // An extension, or words.
  ...['2125550123-4', '212 555 0123 4', '(212) 555-0123-45', '212.555.0123.45'],
  ...['212-555-0123 x45', '2125550123 45', '2125550123,,45', '1-800-FLOWERS', '', '1'.repeat(1_000)],
  // The service adds a 1 to ten digits.
  '+36 1 234 5678',
])('%j is refused, with what to write', (typed) => {
  expect(typedNumber(typed)).toEqual({
    problem: expect.stringMatching(/^no phone number: .+; write one with its country code/),
  });
});

test('a short code is a number where it can text', () => {
  expect(typedNumber('73626', { orShortCode: true })).toEqual({ number: '73626' });
  for (const typed of ['73626', '212', '0123']) expect(typedNumber(typed)).toHaveProperty('problem');
  for (const typed of ['212', '0123', '5556001', '73-626'])
    expect(typedNumber(typed, { orShortCode: true })).toHaveProperty('problem');
});

test.each([
  ['525512345678', '5215512345678'],
  ['5491123456789', '541123456789', '54111523456789', '549111523456789'],
  ['5492235551234', '542235551234', '54223155551234'],
  ['5492944123456', '542944123456', '54294415123456'],
  ['5511987654321', '551187654321'],
  // A landline and a mobile; a country without such a digit.
  ['551134567890'],
  ['5511934567890'],
  ['12125550123'],
  ['442079460958'],
])('%s and its other forms are one', (...forms) => {
  for (const form of forms) expect(sameNumbers(form)[0]).toBe(forms[0]);
  expect(sameNumbers(forms[0] ?? '')).toEqual(expect.arrayContaining(forms));
});
