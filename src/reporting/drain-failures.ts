import { type Database, inTransaction, limitLockWait, query, sql } from '../db/database.ts';
import { NotRolledUp } from './rollups/set-aside.ts';

/** The tables of state of the two drains: of calls and texts, and of what rules and sends did. */
type StateTable = 'ops.rollup_state' | 'ops.outcome_state';

/** A drain that waits for a lock for ever would fail without a word. Where the server or the role has a limit, that holds. */
export const limitWait = `select set_config('lock_timeout', '30s', true) where current_setting('lock_timeout') = '0'`;

/**
 * Runs a drain and records in its state why it failed, for the health checks: no rollup moves until it works again. What was
 * set aside ({@link NotRolledUp}) has rows of its own. A drain that resolves to `busy` did not work, and clears no failure.
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
        sql`update ${state} set last_error = null, error_code = null, failing_since_at = null where failing_since_at is not null`,
      );
    }
    if (ended instanceof NotRolledUp) throw ended;
  } catch (error) {
    if (error instanceof NotRolledUp) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    // Where even this fails, the age of the oldest change still tells.
    await inTransaction(db, async (tx) => {
      await limitLockWait(tx);
      await query(
        tx,
        sql`update ${state} set last_error = ${message}, error_code = ${code}, failing_since_at = coalesce(failing_since_at, now())`,
      );
    }).catch(() => undefined);
    throw error;
  }
}
