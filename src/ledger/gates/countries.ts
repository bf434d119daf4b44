/*
 * Which countries automatic replies may go to. A country is named by the digits its numbers begin with: the calling code, or
 * 1 and an area code for countries that share +1 with the United States and Canada.
 */

/** Calling codes of one and two digits; all others have three. */
const shortCodes = new Set(
  `1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90
   91 92 93 94 95 98`.split(/\s+/),
);

/** Area codes of +1 outside the United States, its territories and Canada, one country a group. Their texts cost more. */
const nanpCountries = '242|246|264|268|284|345|441|473|649|658 876|664|721|758|767|784|809 829 849|868|869'
  .split('|')
  .map((areas) => areas.split(' '));

/** The country of a number or of the beginning of one, digits only: `1` for 12125550100, `44` for 442079460000. */
export function countryOf(digits: string): string {
  if (digits.startsWith('1')) {
    const areas = nanpCountries.find((group) => group.includes(digits.slice(1, 4)));
    return areas ? `1${areas[0]}` : '1';
  }
  const length = [1, 2].find((each) => shortCodes.has(digits.slice(0, each))) ?? 3;
  return digits.slice(0, length);
}

/**
 * Beginnings of numbers that charge whoever contacts them, or are answered by satellite: a text to them is costly and no
 * customer's. From the numbering plans; ranges that are only dearer than a local call are not listed.
 */
const costlyPrefixes = [
  // Satellites and networks without a country, shared-cost and premium-rate services across borders.
  '870 881 882 883 878 808 979',
  // National premium-rate ranges.
  '1900 3190 3290 3389 34803 34806 34807 34905 358600 358700 3989 41900 41901 41906 43900 43901 43930 43931 43939',
  '4470 4487 449 4590 46900 46939 46944 47820 47829 4870 49137 49900 52900 55900 61190 64900 7803 7809 90900 9721900',
]
  .join(' ')
  .split(' ');

/** Exchange 976 of any area code of +1 is premium rate. */
const costlyExchange = /^1\d{3}976\d{4}$/;

/** Whether a number, digits only, is of a premium-rate service or a satellite network. */
export function isCostlyNumber(number: string): boolean {
  return costlyExchange.test(number) || costlyPrefixes.some((prefix) => number.startsWith(prefix));
}

/**
 * Whether automatic replies may go to a number. `allowed` is what the rules file lists, each the beginning of a number;
 * without a list, the countries of the account's own lines are allowed.
 */
export function isAllowedCountry(
  number: string,
  allowed: readonly string[] | undefined,
  ownLines: readonly string[],
): boolean {
  const country = countryOf(number);
  return (allowed ?? ownLines).some((each) => countryOf(each) === country);
}
