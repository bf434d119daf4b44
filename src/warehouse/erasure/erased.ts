import { withFields } from '../../service/answers/fields.ts';
import { hotQuery, type Transaction } from '../database.ts';
import { numbersMentioned, withoutNumbers } from './mentions.ts';

/** One question per transaction, whoever asks it. */
const asked = new WeakMap<Transaction, Promise<boolean>>();

/** Whether anybody was ever erased. From now to the end of the transaction no erasure begins that it would miss. */
export function hasErasures(tx: Transaction): Promise<boolean> {
  const answer =
    asked.get(tx) ??
    hotQuery<{ has_any: boolean }>(tx, 'select ops.hold_erasures() as has_any', []).then(
      ([row]) => row?.has_any === true,
    );
  asked.set(tx, answer);
  return answer;
}

const nobody: ReadonlySet<string> = new Set();
/** A text of single digits has thousands of candidates. */
const maxAsked = 10_000;

/** Which of the normalised numbers that `numbers` collects were erased; it is not called while nobody was. */
export async function erasedAmong(
  tx: Transaction,
  numbers: () => Iterable<string | undefined>,
): Promise<ReadonlySet<string>> {
  if (!(await hasErasures(tx))) return nobody;
  const distinct = [...new Set(numbers())].filter((number) => number !== undefined && number !== '');
  const erased = new Set<string>();
  for (let at = 0; at < distinct.length; at += maxAsked) {
    const asked = distinct.slice(at, at + maxAsked);
    const rows = await hotQuery<{ number: string }>(tx, 'select ops.erased_among($1::text[]) as number', [asked]);
    for (const { number } of rows) erased.add(number);
  }
  return erased;
}

/** Values in whose texts nobody who was erased is mentioned by number; those without such a mention are the same objects. */
export async function withoutMentions<T>(tx: Transaction, values: readonly T[]): Promise<readonly T[]> {
  const erased = await erasedAmong(tx, () => numbersIn(textsIn(values)));
  if (erased.size === 0) return values;
  return values.map((value) => blanked(value, (number) => erased.has(number)) as T);
}

function* numbersIn(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* numbersMentioned(text);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

function blanked(value: unknown, isErased: (number: string) => boolean): unknown {
  if (typeof value === 'string') return withoutNumbers(value, isErased);
  if (typeof value === 'number') return numbersMentioned(String(value)).some(isErased) ? null : value;
  if (Array.isArray(value)) return value.map((each) => blanked(each, isErased));
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, blanked(inner, isErased)]));
  return 'raw' in value && !Object.hasOwn(copy, 'raw') ? withFields(value as { raw: unknown }, copy) : copy;
}
