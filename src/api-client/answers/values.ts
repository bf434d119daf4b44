import { isCallId } from '../../shared/call-id.ts';

/** In which way an answer differs from the specification. */
export type Difference = 'unknown_key' | 'unknown_value' | 'null' | 'wrong_type' | 'missing_key';

/** Reports a difference, at `parent.key`. `sample`: the JSON type, or a new word of an enumeration, never content. */
export type Report = (what: Difference, parent: string, key: string, sample: string) => void;

/** The data of one answer can't be read at all. The message describes the body without quoting it. */
export class UnreadableData extends Error {
  override readonly name = 'UnreadableData';
}

export function pathOf(parent: string, key: string): string {
  return parent === '' ? key : key === '' ? parent : `${parent}.${key}`;
}

/** Whether a value is an object of JSON: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON type of a value, for reports and error messages. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'text';
  return value === undefined ? 'nothing' : typeof value;
}

/** The word itself, or 'text' when it could be content: a name, a number or a sentence. */
function loggableWord(value: string): string {
  if (value === '') return 'empty';
  return /^[a-z][a-z_-]{0,31}$/i.test(value) ? value : 'text';
}

/** The key itself, or `*` when it looks like data. */
export function loggableKey(key: string): string {
  return /^[a-z_$][\w$-]{0,63}$/i.test(key) && !/\d{5}/.test(key) ? key : '*';
}

/**
 * Reads one value of an answer. Returns `undefined` when it is unusable, and reports that at `parent.key`. Never called
 * with `undefined` or `null`: the reader of the surrounding object handles absence.
 */
export type Field<T> = (value: unknown, report: Report, parent: string, key: string) => T | undefined;

/** A word of an enumeration, or a word that the service has added since. */
type Word<W extends string> = W | (string & {});

/** Reads values of one JSON type. Any other type loses the field. */
function ofType<T>(isOfType: (value: unknown) => value is T): Field<T> {
  return (value, report, parent, key) => {
    if (isOfType(value)) return value;
    report(
      'wrong_type',
      parent,
      key,
      Number.isFinite(value) && !Number.isInteger(value) ? 'fraction' : jsonType(value),
    );
    return undefined;
  };
}

export const text = ofType((value) => typeof value === 'string');
export const flag = ofType((value) => typeof value === 'boolean');
/** A finite number. */
export const decimal = ofType((value): value is number => Number.isFinite(value));
/** An integer that a double holds exactly. */
export const integer = ofType((value): value is number => Number.isSafeInteger(value));

/** Longer identifiers aren't plausible, and could exceed what an index holds. */
const maxNameLength = 200;

/** Text that identifies something: not empty, at most 200 characters. */
export const name: Field<string> = (value, report, parent, key) => {
  const read = text(value, report, parent, key);
  if (read === undefined || (read !== '' && read.length <= maxNameLength)) return read;
  report('unknown_value', parent, key, read === '' ? 'empty' : 'text');
  return undefined;
};

/**
 * A call id or a leg's uniqueId (section 2.9). Rejects a number, because it has already lost digits. Keeps text of
 * another shape than documented, and reports it.
 */
export const callId: Field<string> = (value, report, parent, key) => {
  if (typeof value !== 'string') report('wrong_type', parent, key, jsonType(value));
  else if (isCallId(value)) return value;
  else report('unknown_value', parent, key, value === '' ? 'empty' : 'text');
  return typeof value === 'string' && value !== '' && value.length <= maxNameLength ? value : undefined;
};

const maxId = 2n ** 63n - 1n;

/** An id: an integer, or its digits as text beyond what a double holds exactly, up to 64 bits. Never rounded. */
export const id: Field<number | string> = (value, report, parent, key) => {
  if (typeof value !== 'string') return integer(value, report, parent, key);
  const isId = /^[1-9]\d{0,18}$/.test(value) && BigInt(value) <= maxId;
  report(isId ? 'unknown_value' : 'wrong_type', parent, key, isId ? 'long' : 'text');
  return isId && Number.isSafeInteger(Number(value)) ? Number(value) : isId ? value : undefined;
};

const maxCount = 2 ** 31 - 1;

/** An integer that fits a four-byte column: counts, seconds, scores. */
export const count: Field<number> = (value, report, parent, key) => {
  const read = integer(value, report, parent, key);
  if (read === undefined || Math.abs(read) <= maxCount) return read;
  report('unknown_value', parent, key, 'number');
  return undefined;
};

// Some languages write "no time" as year 0 or 1. RFC 3339 allows offsets beyond ±15:59, but Postgres doesn't.
const rfc3339 =
  /^(?!000[01])\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,12})?(?:[Zz]|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

/** Whether a text is an RFC 3339 instant, with any offset. */
export function isInstant(text: string): boolean {
  return rfc3339.test(text) && isDay(text);
}

/** An RFC 3339 instant with any offset, kept as text. */
export const instant: Field<string> = (value, report, parent, key) => {
  if (typeof value !== 'string') report('wrong_type', parent, key, jsonType(value));
  else if (isInstant(value)) return value;
  else report('unknown_value', parent, key, value === '' ? 'empty' : 'text');
  return undefined;
};

/** Whether the month has the day: `Date.parse` would roll 30 February over into March. */
function isDay(date: string): boolean {
  const day = Number(date.slice(8, 10));
  return day <= 28 || day <= new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).getUTCDate();
}

/** A word of an enumeration. Keeps a new word, and reports it. */
export function word<const W extends string>(...words: W[]): Field<Word<W>> {
  const known = new Set<string>(words);
  return (value, report, parent, key) => {
    if (typeof value !== 'string') report('wrong_type', parent, key, jsonType(value));
    else if (known.has(value)) return value;
    else report('unknown_value', parent, key, loggableWord(value));
    return typeof value === 'string' && value !== '' && value.length <= maxNameLength ? value : undefined;
  };
}

/** A message's direction. */
export const messageDirection: Field<'in' | 'out'> = (value, report, parent, key) => {
  const read = text(value, report, parent, key);
  if (read === 'in' || read === 'out' || read === undefined) return read;
  report('unknown_value', parent, key, loggableWord(read));
  return undefined;
};

/**
 * A list of plain values. One unusable element makes the whole list `undefined`, because a shorter list could mean
 * something else: no user ids on a line means that everyone may use it.
 */
export function list<T>(element: Field<T>): Field<readonly T[]> {
  return (value, report, parent, key) => {
    if (!Array.isArray(value)) {
      report('wrong_type', parent, key, jsonType(value));
      return undefined;
    }
    const read: T[] = [];
    for (const item of value) {
      const one = item === null ? undefined : element(item, report, parent, `${key}[]`);
      if (item === null) report('null', parent, `${key}[]`, 'null');
      if (one === undefined) return undefined;
      read.push(one);
    }
    return read;
  };
}
