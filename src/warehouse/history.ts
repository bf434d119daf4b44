import { query, type Transaction } from './database.ts';

/** From here to its end, the transaction fills in history: nothing that it mirrors is news that rules could act on. */
export async function beginHistory(tx: Transaction): Promise<void> {
  await query(tx, `select set_config('trunkline.is_history', 'on', true)`, []);
}
