import { type Database, inTransaction, limitLockWait, query, sql } from '../db/database.ts';
import { NotRolledUp } from './rollups/set-aside.ts';

/**
 * A drain that waits for a lock forever would never report a failure. A limit set on the server or role takes
 * precedence.
 */
export const limitWait = `select set_config('lock_timeout', '30s', true) where current_setting('lock_timeout') = '0'`;

/**
 * Runs a drain, and records why it failed for the health checks, because no rollup is updated until it works again.
 * Changes that were set aside ({@link NotRolledUp}) have their own rows. A drain that resolves to `busy` did nothing,
 * so it clears no failure.
 */
export async function recordFailure(
  db: Database,
  table: 'ops.rollup_state' | 'ops.outcome_state',
  drain: () => Promise<'busy' | 'done'>,
): Promise<void> {
  const state = sql.table(table);
  const ended = await drain().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  if (ended instanceof Error && !(ended instanceof NotRolledUp)) {
    const failing = sql`last_error = ${ended.message}, failing_since_at = coalesce(failing_since_at, now())`;
    // If even this fails, the age of the oldest change still shows the problem.
    await inTransaction(db, async (tx) => {
      await limitLockWait(tx);
      await query(tx, sql`update ${state} set ${failing}`);
    }).catch(() => undefined);
  } else if (ended !== 'busy') {
    const held = sql`failing_since_at is not null`;
    await query(db, sql`update ${state} set last_error = null, failing_since_at = null where ${held}`);
  }
  if (ended instanceof Error) throw ended;
}
