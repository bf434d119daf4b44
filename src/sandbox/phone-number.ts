import { invalidRequest } from './http/errors.ts';

/** Without what people write between the digits of a number (2.4). */
export function stripFormatting(text: string): string {
  return text.replace(/[\s()+.\-\u2010-\u2015\u00a0]/g, '');
}

/** Section 2.4: formatting is stripped and ten digits get the country code 1. Null when it is no phone number. */
export function normalizeNumber(text: string): string | null {
  const digits = stripFormatting(text);
  if (!/^\d{3,15}$/.test(digits)) return null;
  return digits.length === 10 ? `1${digits}` : digits;
}

/** A path segment, query value or field that has to be a phone number; 400 otherwise (section 7). */
export function requireNumber(text: string, field: string): string {
  const number = normalizeNumber(text);
  if (number === null) throw invalidRequest(`${field} must be a phone number, got ${JSON.stringify(text)}`);
  return number;
}
