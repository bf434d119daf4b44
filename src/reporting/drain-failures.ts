import { type Database, inTransaction, limitLockWait, query, sql } from '../db/database.ts';
import { NotRolledUp } from './rollups/set-aside.ts';

/** State tables of the two drains: of calls and texts, and of rules and sends. */
type StateTable = 'ops.rollup_state' | 'ops.outcome_state';

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
  table: StateTable,
  drain: () => Promise<'busy' | 'done'>,
): Promise<void> {
  const state = sql.table(table);
  try {
    const ended = await drain().catch((error: unknown) => {
      if (error instanceof NotRolledUp) return error;
      throw error;
    });
    if (ended !== 'busy') {
      await query(
        db,
        sql`update ${state} set last_error = null, failing_since_at = null where failing_since_at is not null`,
      );
    }
    if (ended instanceof NotRolledUp) throw ended;
  } catch (error) {
    if (error instanceof NotRolledUp) throw error;
    const message = error instanceof Error ? error.message : String(error);
    // If even this fails, the age of the oldest change still shows the problem.
    await inTransaction(db, async (tx) => {
      await limitLockWait(tx);
      await query(
        tx,
        sql`update ${state} set last_error = ${message}, failing_since_at = coalesce(failing_since_at, now())`,
      );
    }).catch(() => undefined);
    throw error;
  }
}
