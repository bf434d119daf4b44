/** Removes the formatting of a phone number (2.4). */
export function stripFormatting(text: string): string {
  return text.replace(/[\s()+.\-\u2010-\u2015\u00a0]/g, '');
}

/** Strips formatting and adds the country code 1 to ten digits (2.4). Null when it isn't a phone number. */
export function normalizeNumber(text: string): string | null {
  const digits = stripFormatting(text);
  if (!/^\d{3,15}$/.test(digits)) return null;
  return digits.length === 10 ? `1${digits}` : digits;
}
