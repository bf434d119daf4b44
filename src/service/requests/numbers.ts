import { firstFault } from './faults.ts';

// What people write between the digits: spaces, brackets, dots, slashes, hyphens and dashes, and the plus in front.
const formatted = /^[\s()+./\-\u2010-\u2015\u2212]*(?:\d[\s()+./\-\u2010-\u2015\u2212]*){3,15}$/;

/** Whether a text is a phone number, from a short code's three digits to E.164's fifteen, formatted or not. */
export function isPhoneNumber(text: string): boolean {
  return formatted.test(text);
}

/** Why `value` is no phone number (section 7). It is not quoted: it may be somebody's. */
export function numberFault(field: string, value: string): string | undefined {
  if (isPhoneNumber(value)) return undefined;
  return `\`${field}\` is no phone number: give 3 to 15 digits, with or without formatting (section 2.4)`;
}

/** Why one of `lines` is none, or an empty list would be taken for all of them. */
export function linesFault(lines: readonly string[] | undefined): string | undefined {
  if (lines?.length === 0) return '`lines` is empty: name at least one, or leave it out for all of them (section 4.3)';
  return firstFault(lines ?? [], (line, i) => numberFault(`lines[${i}]`, line));
}
