import { type Database, query, type Transaction } from './database.ts';

/*
 * Locks for work that only one process may do at a time. They are rows of `ops.locks`, which only the daemon may read.
 * Advisory locks would be unsafe: any role can take them, so a reporting role could stop the mirror with one SELECT.
 * Two locks are tables instead: `ops.erasures` (migrations/routines/erasure.sql), which all writers share, and
 * `ops.migrations` (src/db/migrate.ts), which exists before any row does.
 */

/** The rows of `ops.locks`. */
export const lockNames = [
  'bi_role',
  'directory',
  'notifications',
  'outcomes',
  'retention',
  'rollups',
  'rule_events',
  'subscriptions',
  'views',
] as const;

export type LockName = (typeof lockNames)[number];

/** Waits for a lock, and holds it until the transaction ends. */
export async function takeLock(tx: Transaction, name: LockName): Promise<void> {
  const rows = await query(tx, lockRow(name), []);
  // If the row were missing, nothing would be locked.
  if (rows.length === 0) throw new Error(`ops.locks has no row ${name}`);
}

/** Takes a lock until the transaction ends; false if another transaction holds it. */
export async function tryLock(tx: Transaction, name: LockName): Promise<boolean> {
  return (await query(tx, `${lockRow(name)} skip locked`, [])).length > 0;
}

/**
 * Has no parameters, so the statement leaves no snapshot behind. An idle transaction with a snapshot would keep vacuum
 * from removing dead rows, and `create index concurrently` would wait for it.
 */
function lockRow(name: LockName): string {
  return `select from ops.locks where name = '${name}' for update`;
}

/**
 * Holds a lock while `work` runs on other connections. The lock's transaction is idle meanwhile, so this should take
 * minutes at most. Rejects if the lock's connection was lost meanwhile.
 */
export function whileLocked<T>(db: Database, name: LockName, work: () => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await takeLock(tx, name);
    return work();
  });
}
