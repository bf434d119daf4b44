import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';

/** Removes what rules noted of a number, and what was observed of its conversations, once these are gone. */
export async function eraseRules(tx: Transaction, spellings: readonly string[]): Promise<Removed> {
  const rows = await query<{ place: string; removed: string }>(
    tx,
    'select place, sum(removed) as removed from unnest($1::text[]) spelling cross join lateral ops.erase_rules(spelling) group by place',
    [spellings],
  );
  return Object.fromEntries(rows.map(({ place, removed }) => [place, Number(removed)]));
}
