import { normalizeNumber } from '../shared/numbers.ts';
import { threadKey } from '../shared/thread.ts';
import { normalize } from './phrases.ts';

/** E.164 allows at most 15 digits. */
const maxDigits = 15;

/** Area code, exchange and line. Area code and exchange can't begin with 0 or 1, or be a service code such as 911. */
const northAmerican = /^1(?![2-9]11)[2-9]\d{2}(?![2-9]11)[2-9]\d{2}\d{4}$/;

const keypad = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqrs', 'tuv', 'wxyz'];

/** Words that telephone systems show, or spell on the keypad, for callers who hide their number. */
const hiddenCallers = [
  'anonymous blocked callerunknown nocallerid nonumber notavailable outofarea payphone private privatecaller privatenumber',
  'restricted suppressed unavailable unknown unknowncaller unknownnumber withheld',
]
  .join(' ')
  .split(' ');

// Some systems cut caller ids to ten digits, and normalisation adds a leading 1 to ten digits.
const hiddenDigits = new Set(
  hiddenCallers
    .map((word) => [...word].map((letter) => 2 + keypad.findIndex((key) => key.includes(letter))).join(''))
    .flatMap((digits) => [digits, digits.slice(0, 10)])
    .flatMap((digits) => [digits, `1${digits}`]),
);

/**
 * Whether a normalised number can belong to somebody. Rejects `0000000000`, words such as RESTRICTED spelled on the
 * keypad, impossible North American numbers, and numbers that begin with 0 (no country code does).
 */
export function isPhoneNumber(number: string): boolean {
  if (!/^[1-9]\d*$/.test(number) || number.length > maxDigits) return false;
  if (hiddenDigits.has(number) || /^1?(\d)\1{6,}$/.test(number)) return false;
  return !number.startsWith('1') || northAmerican.test(number);
}

/** An international number in a caller id: `+` or an international dialling prefix, then the calling code. */
const international = /^(?:\+|011|00)([1-9]\d*)$/;

/**
 * Whether the caller ids of a call show that its ten digits belong to another country. Normalisation would add a
 * leading 1 and turn it into a stranger's number.
 */
export function isForeignRead(number: string, callerIds: readonly string[]): boolean {
  return callerIds.some((callerId) => {
    const digits = international.exec(callerId.replace(/[^\d+]+/g, ''))?.[1] ?? '';
    return digits.length === 10 && number === normalizeNumber(digits);
  });
}

/** All country codes of one and two digits (ITU-T E.164); the others have three. */
const shortCountryCodes = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/;

/** The digits of a number that are its country code. */
export function countryCodeOf(number: string): string {
  return shortCountryCodes.exec(number)?.[0] ?? number.slice(0, 3);
}

/** Country codes without a trunk prefix before the national number. */
const withoutTrunkPrefix: ReadonlySet<string> = new Set(
  '1 30 34 39 45 47 48 52 56 57 65 216 221 225 237 350 351 352 354 356 357 371 372 376 377 378 420 423 500 501 502 503 504 505 506 507 590 594 596 852 853 965 968 973 974 975'.split(
    ' ',
  ),
);

/** What may stand between the digits of one number that somebody typed, after compatibility normalisation. */
const typedAlone = /^[+(\s\p{Cf}]{0,9}[\p{Nd}\s\p{Cf}\p{Pd}\u2212()[\]./_\u00b7\u30fb]{1,90}$/u;
/** Excel's mark of a text, or the scheme of a link. */
const beforeTyped = /^\s*(?:'|tel:|sms:)/i;
const exitCode = /^(?:0011|011|00)(?=[1-9])/;
/**
 * A decimal; digits behind a whole number, which only a dash may join (an extension in Germany); digits behind a North
 * American number; digits and a slash behind a local number; two local numbers.
 */
const moreThanOne =
  /^\D*\d{7,}\.\d|\d{10,}[^\d\p{Pd}]+\d|^[^\d+]*[2-9]\d\d\D*\d{3}\D*\d{4}\D+\d|(?:\d[^\d/]*){7}\/\D*\d|(?:\d[^\d\s]*){7}\s\D*(?:\d[^\d\s]*){7}/u;
/** E.164 allows 15 digits, but only these countries give people numbers of more than 13. */
const longNumbers = /^(?:39|43|49|54|62|352|358)/;

/** A number, or what is wrong with a text, as the end of a sentence that begins with "This is". */
export type TypedNumber = { readonly number: string } | { readonly problem: string };

interface TypedOptions {
  readonly orShortCode?: boolean;
  readonly orUnassigned?: boolean;
}

/**
 * Reads one phone number as people and spreadsheets write it, and normalises it like the service. Everything that takes
 * a typed number uses this. Refuses a text that may mean another number. `orShortCode` allows 4 to 6 digits too;
 * `orUnassigned` numbers that nobody can have, which a caller can show and the mirror then holds.
 */
export function typedNumber(typed: string, options: TypedOptions = {}): TypedNumber {
  const found = readTyped(typed, options);
  if (typeof found !== 'string') return found;
  return { problem: `no phone number: ${found}; write one with its country code, such as +1 212 555 0123` };
}

/** A digit of any script in ASCII: Unicode orders the ten digits of a script from 0 to 9. */
function plainDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

function readTyped(
  typed: string,
  { orShortCode = false, orUnassigned = false }: TypedOptions,
): { readonly number: string } | string {
  const composed = normalize(typed, 'NFKC').replace(beforeTyped, '');
  const text = composed.replace(/\p{Nd}/gu, plainDigit).trim();
  if (/^\d+(?:[.,]\d*)?e\+?\d+$/i.test(text)) return 'a spreadsheet has rounded it';
  if (!typedAlone.test(text)) return 'it has to be digits and separators alone';
  if (moreThanOne.test(text)) return 'it holds a decimal, an extension or a second number';
  const dialled = text.replace(/\D+/g, '');
  const digits = dialled.replace(exitCode, '');
  if (orShortCode && /^[1-9]\d{3,5}$/.test(text)) return { number: text };
  if (digits.startsWith('0')) return 'it begins with 0';
  const isInternational = text.includes('+') || digits !== dialled;
  if (digits.length < (isInternational ? 8 : 10)) return `it has only ${digits.length} digits`;
  const country = countryCodeOf(digits);
  const isAbroad = isInternational || digits.length > 10;
  const hasTrunkZero = isAbroad && digits.charAt(country.length) === '0' && !withoutTrunkPrefix.has(country);
  const whole = hasTrunkZero ? country + digits.slice(country.length + 1) : digits;
  const number = normalizeNumber(whole);
  if (isInternational && number !== whole) return `the service reads its ten digits as +${number}`;
  const isLong = number.length > 13 && !longNumbers.test(number);
  return isLong || !(orUnassigned || isPhoneNumber(number)) ? 'nobody can have it' : { number };
}

const threeDigitAreas = '2(?:2[0-13]|3[067]|49|6[01346]|80|9[1789])|3(?:36|4[1-358]|5[138]|6[24]|7[069]|8[013578])';

/**
 * Countries whose mobile numbers are written with and without an extra digit, and how. The first form is the usual one.
 */
const writtenTwice: readonly { readonly pattern: RegExp; readonly forms: readonly string[] }[] = [
  // Mexico: 1 until 2019.
  { pattern: /^521?(\d{10})$/, forms: ['52$1', '521$1'] },
  // Brazil: 9 since 2016. A landline begins with 2 to 5.
  { pattern: /^55(\d\d)9?([016-9]\d{7})$/, forms: ['55$19$2', '55$1$2'] },
  // Argentina: 9 from abroad, and within the country 15 behind an area code of two to four digits.
  ...['(11)(?:15)?(\\d{8})', `(${threeDigitAreas})(?:15)?(\\d{7})`, '([23]\\d{3})(?:15)?(\\d{6})'].map((national) => ({
    pattern: new RegExp(`^549?${national}$`),
    forms: ['549$1$2', '54$1$2', '54$115$2', '549$115$2'],
  })),
];

/**
 * The forms of one number that differ in a digit of its country for mobiles, itself among them; the first is always the
 * same.
 */
export function sameNumbers(number: string): readonly string[] {
  const { pattern, forms } = writtenTwice.find((each) => each.pattern.test(number)) ?? {};
  return pattern && forms ? forms.map((form) => number.replace(pattern, form)) : [number];
}

/** International call prefixes: most countries; North America; Australia; Japan; Russia. */
const exitCodes = ['00', '011', '0011', '010', '810'];

/** A national spelling with fewer digits is too ambiguous. */
const shortestNational = 8;

/** Trunk prefixes other than 0. */
const trunkPrefixes: Readonly<Record<string, string>> = { 7: '8', 36: '06', 375: '8' };

/**
 * All digit sequences that mean a number, normalised: the number itself, with and without its country's digit for
 * mobiles, with an exit code, with a 0 after the country code, and in its national form. Whatever compares numbers of
 * people compares these.
 */
export function spellingsOf(number: string): string[] {
  return [...new Set([number, ...sameNumbers(number).flatMap(spelled).map(normalizeNumber)])];
}

function spelled(number: string): string[] {
  const country = countryCodeOf(number);
  const national = number.slice(country.length);
  if (number.length < shortestNational || number.startsWith('0')) return [number];
  const trunk = withoutTrunkPrefix.has(country) ? '' : (trunkPrefixes[country] ?? '0');
  const international = trunk === '0' ? [country, `${country}0`] : [country];
  const abroad = ['', ...exitCodes].flatMap((exitCode) => international.map((code) => exitCode + code));
  // The service reads ten digits as a North American number, and so are eleven that begin with 1.
  const isNorthAmerican = country === '1' && national.length === 10;
  const local = trunk + national;
  const isSpelledAlone =
    isNorthAmerican || (local.length >= shortestNational && !/^(?:1\d{10}|[2-9]\d{9})$/.test(local));
  return [...abroad, ...(isSpelledAlone ? [trunk] : [])].map((prefix) => prefix + national);
}

/**
 * Converts a thread key that a person typed: `line/number`, or `line/a,b` (also `line/a/a,b`) for a group, with country
 * codes, or as lists show it. Undefined if the text isn't one.
 */
export function typedThreadKey(text: string): string | undefined {
  const [lineText = '', numbers = '', more = '', ...rest] = text.split('/');
  const line = partyOf(lineText);
  const participants = [numbers, more].flatMap((each) => each.split(',')).filter((each) => each !== '');
  const parties = new Set(participants.map(partyOf));
  if (line === undefined || parties.size === 0 || parties.has(undefined) || rest.length > 0) return undefined;
  const others = [...parties].filter((number) => number !== undefined && number !== line).sort() as string[];
  const [number = line] = others;
  return threadKey({ line, number, participants: others.length > 1 ? others : [] });
}

/**
 * The number of a party. The service sends some that nobody can have, such as `5556001`: these are taken as they are
 * listed.
 */
function partyOf(text: string): string | undefined {
  if (/^\d{3,15}$/.test(text) && text.length !== 10) return text;
  const typed = typedNumber(text);
  return 'number' in typed ? typed.number : undefined;
}
