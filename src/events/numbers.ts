import { normalizeNumber } from '../numbers.ts';
import { traitsOf } from './keys.ts';

/** A longer text is no list of numbers: a conversation has some twenty parties. */
const longestText = 2_000;

/**
 * The phone numbers that a field holds, normalised and in order: a string (split on `,`, `;` and `|`), a number, an
 * object with a `number`, or an array of these. Anything that cannot be dialled, from a short code up, is left out.
 */
export function numbersIn(field: unknown): string[] {
  if (typeof field === 'string' && field.length > longestText) return [];
  if (typeof field === 'string') return /[,;|]/.test(field) ? field.split(/[,;|]/).flatMap(one) : one(field);
  if (typeof field === 'number') return one(String(field));
  if (Array.isArray(field)) return field.slice(0, 100).flatMap((entry) => numbersIn(inner(entry)));
  return typeof field === 'object' && field !== null ? numbersIn(inner(field)) : [];
}

function one(text: string): string[] {
  const number = normalizeNumber(text);
  return number.length >= 3 && number.length <= 15 ? [number] : [];
}

/** The plain value behind `{number: …}`; containers in it are not followed, so that a hostile nesting ends here. */
function inner(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null) return entry;
  if (Array.isArray(entry)) return undefined;
  const values = entry as Record<string, unknown>;
  for (const key in values) {
    const { field } = traitsOf(key);
    const value = values[key];
    const isNumber = field === 'number' || field === 'phonenumber' || field === 'phone';
    if (isNumber && (typeof value === 'string' || typeof value === 'number')) return value;
  }
  return undefined;
}
