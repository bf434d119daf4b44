/**
 * A phone number in the form the service compares (section 2.4): digits only, with a leading 1 added to ten digits.
 * Other country codes stay as given. Empty if the text has no digits.
 */
export function normalizeNumber(text: string): string {
  const digits = text.replace(/\D+/g, '');
  return digits.length === 10 ? `1${digits}` : digits;
}

/** Shorter numbers are extensions and short codes, which identify nobody. */
const shortestNumber = 7;

/** The phone numbers in a column or a body, normalised: whole values of digits and what people type between them. */
export function numbersIn(text: string): string[] {
  return text
    .split(/[^\d+() .-]+/)
    .map(normalizeNumber)
    .filter((number) => number.length >= shortestNumber);
}

const asciiDigit = /^[0-9]+$/;
const decimal = /\p{Nd}/u;
const known = new Map<string, string>();

/** A digit of any script in ASCII. */
export function plainDigit(character: string): string {
  // Unicode orders the ten digits of a script from 0 to 9; compatibility digits decompose to ASCII ones.
  const composed = character.normalize('NFKC');
  if (asciiDigit.test(composed)) return composed;
  const held = known.get(character);
  if (held !== undefined) return held;
  const code = character.codePointAt(0) ?? 0;
  let zero = code;
  while (decimal.test(String.fromCodePoint(zero - 1))) zero -= 1;
  const value = String((code - zero) % 10);
  known.set(character, value);
  return value;
}
