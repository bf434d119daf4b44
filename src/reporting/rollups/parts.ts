import { query, type Transaction } from '../../warehouse/database.ts';

/** What the data itself can bring about: a value out of range, a key too long, a page that is broken. Not a lack of disk. */
const dataClasses = new Set(['21', '22', '23', '54', 'P0', 'XX']);

/**
 * Does some work on items, all at once. Where a fact makes that fail, halves them until only those are left out that fail
 * by themselves; each is handed to `onFault`. Returns what the other work returned. Any other error is thrown.
 */
export async function inParts<Item, Result>(
  tx: Transaction,
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<Result>,
  onFault: (item: Item, error: Error) => void,
): Promise<Result[]> {
  const [first] = items;
  if (first === undefined) return [];
  await query(tx, 'savepoint part', []);
  try {
    const result = await work(items);
    await query(tx, 'release savepoint part', []);
    return [result];
  } catch (error) {
    if (!isOfData(error)) throw error;
    await query(tx, 'rollback to savepoint part', []);
    await query(tx, 'release savepoint part', []);
    if (items.length === 1) {
      onFault(first, error);
      return [];
    }
    const half = Math.ceil(items.length / 2);
    return [
      ...(await inParts(tx, items.slice(0, half), work, onFault)),
      ...(await inParts(tx, items.slice(half), work, onFault)),
    ];
  }
}

function isOfData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && dataClasses.has(String(error.code).slice(0, 2));
}
