import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';

/** Takes a person out of the ledger: texts and number go, what was spent stays, and what waited is not sent. */
export async function eraseSends(tx: Transaction, spellings: readonly string[]): Promise<Removed> {
  const rows = await query<{ place: string; removed: number }>(
    tx,
    'select place, sum(removed)::integer as removed from unnest($1::text[]) spelling cross join lateral ops.erase_sends(spelling) group by place',
    [spellings],
  );
  return Object.fromEntries(rows.map(({ place, removed }) => [place, removed]));
}
