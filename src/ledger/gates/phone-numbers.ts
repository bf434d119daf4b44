import { normalizeNumber } from '../../shared/numbers.ts';

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
