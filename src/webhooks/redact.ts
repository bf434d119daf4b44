import { storableJson } from '../shared/storable.ts';
import { beginsLikeJson } from './body.ts';
import { traitsOf } from './keys.ts';

const redacted = '[redacted]';
const maxDepth = 64;

/** An address with a scheme, within a value. */
const address = /[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>]+/gi;

/**
 * Removes the values of keys that are known to hold a secret, and addresses, and returns compact JSON that text and
 * jsonb can hold. Texts written by people stay.
 */
export function canonical(tree: object): string {
  return storableJson(redact(tree, false, 0));
}

/** Drops branches below 64 levels: no real delivery is that deep, and a serializer may fail on one. */
function redact(value: unknown, isText: boolean, depth: number): unknown {
  if (typeof value === 'string') return isText ? value : redactString(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) return redacted;
  if (Array.isArray(value)) return value.map((each) => redact(each, isText, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const traits = traitsOf(key);
      return [key, traits.isSecret && isFilled(inner) ? redacted : redact(inner, traits.isText, depth + 1)];
    }),
  );
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== '' && typeof value !== 'boolean';
}

/** A text that contains JSON may hold a secret under any key. */
function redactString(value: string): string {
  if (value === redacted) return value;
  return beginsLikeJson(value) ? redacted : value.replace(address, redacted);
}
