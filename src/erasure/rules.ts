import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';

/** Removes what rules noted of a number, and what was observed of its conversations, once these are gone. */
export async function eraseRules(tx: Transaction, number: string): Promise<Removed> {
  const rows = await query<{ place: string; removed: string }>(tx, 'select place, removed from ops.erase_rules($1)', [
    number,
  ]);
  return Object.fromEntries(rows.map(({ place, removed }) => [place, Number(removed)]));
}
