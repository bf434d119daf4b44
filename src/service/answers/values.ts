import { jsonType, type Reading, shownWord } from './reading.ts';

/**
 * Reads one value of an answer: the value, or `undefined` when it cannot be had (the drift is noted at `parent.key`).
 * A field is never given `undefined` or `null`: absence is decided by whoever holds the object.
 */
export type Field<T> = (value: unknown, reading: Reading, parent: string, key: string) => T | undefined;

/** A word of an enumeration, or one that the service has added since: those are kept as they came. */
export type Word<W extends string> = W | (string & {});

/** Text; a number that text can hold without loss (a phone number, an extension) becomes text. */
export const text: Field<string> = (value, reading, parent, key) => {
  if (typeof value === 'string') return value;
  reading.note('wrong_type', parent, key, jsonType(value));
  return Number.isSafeInteger(value) ? String(value) : undefined;
};

/** What identifies or classifies has some dozen characters; what is longer is something else, and no index takes it. */
const longestName = 200;

/** Text that identifies or points at something: empty text points at nothing. */
export const name: Field<string> = (value, reading, parent, key) => {
  const read = text(value, reading, parent, key);
  if (read === undefined || (read !== '' && read.length <= longestName)) return read;
  reading.note('unknown_value', parent, key, read === '' ? 'empty' : 'text');
  return undefined;
};

/**
 * A call id or a leg's uniqueId. Always text: as a number it has already lost its last digits, so a number is not read
 * (section 2.9). Another shape than the documented one is kept and noted.
 */
export const callId: Field<string> = (value, reading, parent, key) => {
  if (typeof value !== 'string') reading.note('wrong_type', parent, key, jsonType(value));
  else if (/^\d{9,11}\.\d{1,12}$/.test(value)) return value;
  else reading.note('unknown_value', parent, key, value === '' ? 'empty' : 'text');
  return typeof value === 'string' && value !== '' && value.length <= longestName ? value : undefined;
};

/** An integer that a double holds exactly; numeric text becomes a number. */
export const integer: Field<number> = (value, reading, parent, key) => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  reading.note('wrong_type', parent, key, typeof value === 'number' ? 'fraction' : jsonType(value));
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
};

const largestId = 2n ** 63n - 1n;

/** An id: an integer, and beyond what a double holds exactly its digits as text, up to 64 bits. Never another number. */
export const id: Field<number | string> = (value, reading, parent, key) => {
  const isLong = typeof value === 'string' && /^[1-9]\d{15,18}$/.test(value) && BigInt(value) <= largestId;
  if (!isLong) return integer(value, reading, parent, key);
  reading.note('unknown_value', parent, key, 'long');
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
};

const largestCount = 2 ** 31 - 1;

/** An integer that a four-byte column holds: counts, seconds, scores. */
export const count: Field<number> = (value, reading, parent, key) => {
  const read = integer(value, reading, parent, key);
  if (read === undefined || Math.abs(read) <= largestCount) return read;
  reading.note('unknown_value', parent, key, 'number');
  return undefined;
};

/** A finite number; numeric text becomes a number. */
export const decimal: Field<number> = (value, reading, parent, key) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  reading.note('wrong_type', parent, key, jsonType(value));
  return typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : undefined;
};

/** true or false; the same words as text are understood, 0 and 1 are not. */
export const flag: Field<boolean> = (value, reading, parent, key) => {
  if (typeof value === 'boolean') return value;
  reading.note('wrong_type', parent, key, jsonType(value));
  return value === 'true' ? true : value === 'false' ? false : undefined;
};

// Years 0 and 1 are how some languages spell "no time". Offsets beyond ±15:59 are valid in RFC 3339, and Postgres
// refuses them.
const rfc3339 =
  /^(?!000[01])\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,12})?(?:[Zz]|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

/** Whether a text is an RFC 3339 instant, with any offset. */
export function isInstant(text: string): boolean {
  return rfc3339.test(text) && isDay(text);
}

/** An RFC 3339 instant, kept as the text that came, with any offset. */
export const instant: Field<string> = (value, reading, parent, key) => {
  if (typeof value !== 'string') {
    reading.note('wrong_type', parent, key, jsonType(value));
    return undefined;
  }
  if (isInstant(value)) return value;
  reading.note('unknown_value', parent, key, value === '' ? 'empty' : 'text');
  return undefined;
};

/** Whether the month has the day: `Date.parse` would roll 30 February over into March. */
function isDay(date: string): boolean {
  const day = Number(date.slice(8, 10));
  return day <= 28 || day <= new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).getUTCDate();
}

/** A word of an enumeration; a new one is kept and noted. */
export function word<const W extends string>(...words: W[]): Field<Word<W>> {
  const known = new Set<string>(words);
  return (value, reading, parent, key) => {
    if (typeof value !== 'string') reading.note('wrong_type', parent, key, jsonType(value));
    else if (known.has(value)) return value;
    else reading.note('unknown_value', parent, key, shownWord(value));
    return typeof value === 'string' && value !== '' && value.length <= longestName ? value : undefined;
  };
}

const directions = new Map<string, 'in' | 'out'>([
  ['in', 'in'],
  ['out', 'out'],
  ['inbound', 'in'],
  ['outbound', 'out'],
  ['received', 'in'],
  ['sent', 'out'],
]);

/** A message's direction: the specified words, and those that events use for the same. */
export const messageDirection: Field<'in' | 'out'> = (value, reading, parent, key) => {
  const read = typeof value === 'string' ? directions.get(value) : undefined;
  if (read !== undefined) {
    if (read !== value) reading.note('unknown_value', parent, key, shownWord(value as string));
    return read;
  }
  if (typeof value === 'string') reading.note('unknown_value', parent, key, shownWord(value));
  else reading.note('wrong_type', parent, key, jsonType(value));
  return undefined;
};

/**
 * A list of plain values, whole or not at all: a list that silently lost an element would say something else (no user
 * ids on a line means that everyone may use it).
 */
export function list<T>(element: Field<T>): Field<readonly T[]> {
  return (value, reading, parent, key) => {
    if (!Array.isArray(value)) {
      reading.note('wrong_type', parent, key, jsonType(value));
      return undefined;
    }
    const read: T[] = [];
    for (const item of value) {
      const one = item === null ? undefined : element(item, reading, parent, `${key}[]`);
      if (item === null) reading.note('null', parent, `${key}[]`, 'null');
      if (one === undefined) return undefined;
      read.push(one);
    }
    return read;
  };
}
