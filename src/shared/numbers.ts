/**
 * A phone number as the service compares it (section 2.4): digits only, ten digits get the leading 1, other country
 * codes stay as given. Empty when the text has no digits.
 */
export function normalizeNumber(text: string): string {
  const digits = text.replace(/\D+/g, '');
  return digits.length === 10 ? `1${digits}` : digits;
}
