import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';

/** Takes a person out of the ledger: texts and number go, what was spent stays, and what waited is not sent. */
export async function eraseSends(tx: Transaction, number: string): Promise<Removed> {
  const rows = await query<{ place: string; removed: number }>(
    tx,
    'select place, removed::integer from ops.erase_sends($1)',
    [number],
  );
  return Object.fromEntries(rows.map(({ place, removed }) => [place, removed]));
}
