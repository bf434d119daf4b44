import { hotQuery, type Transaction } from '../../db/database.ts';

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
/** Numbers per query: an import of contacts can have many thousand. */
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
