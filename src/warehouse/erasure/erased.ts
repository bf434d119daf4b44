import { withFields } from '../../api-client/client.ts';
import { hotQuery, type Transaction } from '../../db/database.ts';
import { numbersMentioned, withoutNumbers } from './mentions.ts';

/** Caches {@link hasErasures} per transaction. */
const cached = new WeakMap<Transaction, Promise<boolean>>();

/** Whether anybody was ever erased. Takes a lock: until the transaction ends, no new erasure removes rows. */
export function hasErasures(tx: Transaction): Promise<boolean> {
  const answer =
    cached.get(tx) ??
    hotQuery<{ has_any: boolean }>(tx, 'select ops.hold_erasures() as has_any', []).then(
      ([row]) => row?.has_any === true,
    );
  cached.set(tx, answer);
  return answer;
}

const nobody: ReadonlySet<string> = new Set();
/** Numbers per query: a long text of single digits has many thousand candidates. */
const maxPerQuery = 10_000;

/** The erased ones among normalised numbers. `numbers` is called only if anybody was ever erased. */
export async function erasedAmong(
  tx: Transaction,
  numbers: () => Iterable<string | undefined>,
): Promise<ReadonlySet<string>> {
  if (!(await hasErasures(tx))) return nobody;
  const distinct = [...new Set(numbers())].filter((number) => number !== undefined && number !== '');
  const erased = new Set<string>();
  for (let at = 0; at < distinct.length; at += maxPerQuery) {
    const asked = distinct.slice(at, at + maxPerQuery);
    const rows = await hotQuery<{ number: string }>(tx, 'select ops.erased_among($1::text[]) as number', [asked]);
    for (const { number } of rows) erased.add(number);
  }
  return erased;
}

/** Removes all mentions of erased numbers from values. Returns values without such mentions unchanged. */
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
