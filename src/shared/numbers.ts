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
