import { expect, test } from 'vitest';
import { countryOf, isAllowedCountry, isCostlyNumber } from '../../../src/ledger/gates/gates.ts';
import { parseRules } from '../../../src/rules/file/parse.ts';
import { createRandom } from '../../../src/sandbox/random.ts';
import { generateCustomers } from '../../../src/sandbox/seed/directory.ts';

const line = '16465550100';

test.each(
  '12125550123 1, 17875550123 1, 16045550123 1, 18765550123 1658, 16585550123 1658, 442079460000 44, 79161234567 7, 972501234567 972'
    .split(', ')
    .map((row) => row.split(' ')),
)('%s is a number of country %s', (number, country) => {
  expect(countryOf(number as string)).toBe(country);
});

test.each([
  ['12125550123', undefined, true],
  ['18765550123', undefined, false],
  ['442079460000', undefined, false],
  ['442079460000', ['1', '44'], true],
  ['18765550123', ['1'], false],
  ['16585550123', ['1876'], true],
  ['12125550123', ['44'], false],
])('%s with the list %j: %s', (number, allowed, isAllowed) => {
  expect(isAllowedCountry(number, allowed, [line])).toBe(isAllowed);
});

test('every own line brings its country along', () => {
  expect(isAllowedCountry('33612345678', undefined, [line, '3314'])).toBe(true);
});

test.each(
  `870772001234 881612345678 88213123456 883510012345 19005550123 12129765555 979123456789 447012345678 449098790000
  33899123456 34806123456 49900123456 972190012345`.split(/\s+/),
)('%s is never texted', (number) => {
  expect(isCostlyNumber(number)).toBe(true);
});

test.each(
  `12125550123 18005550123 19765550123 447700900123 33612345678 34612345678 4915112345678 972501234567 390612345678
  97688112233 35315123456 6491234567 819012345678 919012345678`.split(/\s+/),
)('%s is an ordinary number', (number) => {
  expect(isCostlyNumber(number)).toBe(false);
});

test('the customers of the sandbox may be texted from its lines, but for those abroad', () => {
  const customers = generateCustomers(createRandom(7), 4_000);
  const refused = customers.filter(
    ({ number }) => isCostlyNumber(number) || !isAllowedCountry(number, undefined, [line]),
  );
  expect(refused.every(({ number }) => countryOf(number) !== '1' || number.startsWith('1900'))).toBe(true);
  expect(refused.length).toBeLessThan(customers.length / 10);
});

test('the rules file lists countries by their calling code, quoted or not', () => {
  const limitsOf = (countries: string) =>
    parseRules(`countries: ${countries}\nrules: []\n`, { file: 'rules.yaml', timeZone: 'UTC' }).accountLimits;
  expect(limitsOf('[+1, "+44", 972]')).toEqual({ countries: ['1', '44', '972'] });
  expect(() => limitsOf('[US]')).toThrow(/rules\.yaml:1:13: This is not a calling code/);
  expect(() => limitsOf('[]')).toThrow(/The list is empty/);
});
