import { type Blocker, type LockWait, readLockWaits, readLongTransactions } from '../../db/blockers.ts';
import { type Database, query, sql } from '../../db/database.ts';
import { readRunningConnections } from '../processes.ts';

/** What is wrong with the server, or what others do to it. */
export interface PostgresStatus {
  /** Sessions that ours wait for. */
  readonly waits: readonly LockWait[];
  /** Long transactions of others. */
  readonly long: readonly Blocker[];
  /** When a process of ours was last told that the disk is full; null unless that was within the last two minutes. */
  readonly diskFullAt: Date | null;
  /** The limit on connections, where it is lower than what the running processes may open; null otherwise. */
  readonly connections: { readonly sentence: string; readonly remedy: string; readonly isTooMuch: boolean } | null;
}

export async function readPostgres(db: Database): Promise<PostgresStatus> {
  const [disk] = await query(
    db,
    sql<{
      at: Date | null;
    }>`select max(disk_full_at) as at from ops.processes where disk_full_at > now() - interval '2 minutes'`,
  );
  return {
    waits: await readLockWaits(db),
    long: await readLongTransactions(db),
    diskFullAt: disk?.at ?? null,
    connections: await readRunningConnections(db),
  };
}
