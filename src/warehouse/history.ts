import { query, type Transaction } from './database.ts';

/**
 * From here to its end, the transaction fills in history: what it mirrors is no news that rules could act on, but for what
 * happened in the last minutes, since its own webhook may come later than this read, or never.
 */
export async function beginHistory(tx: Transaction): Promise<void> {
  await query(tx, `select set_config('trunkline.is_history', 'on', true)`, []);
}
