import { type Database, query, type Transaction } from './database.ts';

/*
 * One process at a time does what stands here. The locks are rows of `ops.locks`, which only the daemon may read: every role of
 * a database may take an advisory lock, so a role for reports could stop the mirror with one SELECT. Two locks are tables
 * instead: `ops.erasures` (migrations/routines/erasure.sql), which all writers share, and `ops.migrations` (src/db/migrate.ts),
 * which exists before any row.
 */

/** The rows of `ops.locks`. */
export const lockNames = [
  'alerts',
  'audits',
  'bi_role',
  'directory',
  'oauth_tokens',
  'outcomes',
  'retention',
  'rollups',
  'rule_events',
  'search',
  'subscriptions',
  'views',
] as const;

export type LockName = (typeof lockNames)[number];

/** Waits for a lock, and holds it until the transaction ends. */
export async function takeLock(tx: Transaction, name: LockName): Promise<void> {
  const rows = await query(tx, lockRow(name), []);
  // Without its row, nothing would be locked.
  if (rows.length === 0) throw new Error(`ops.locks has no row ${name}`);
}

/** Takes a lock until the transaction ends; false if another transaction holds it. */
export async function tryLock(tx: Transaction, name: LockName): Promise<boolean> {
  return (await query(tx, `${lockRow(name)} skip locked`, [])).length > 0;
}

/**
 * Without parameters, so that the statement leaves no snapshot behind: until its next statement, a transaction that is idle would
 * keep dead rows from vacuum, and `create index concurrently` waits until it ends.
 */
function lockRow(name: LockName): string {
  return `select from ops.locks where name = '${name}' for update`;
}

/**
 * Holds a lock while `work` runs on other connections: in a transaction that is idle meanwhile, so for minutes at most. Rejects
 * when the connection with the lock was lost meanwhile.
 */
export function whileLocked<T>(db: Database, name: LockName, work: () => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await takeLock(tx, name);
    return work();
  });
}
