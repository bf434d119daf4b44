import { type Database, hotQuery, sql } from '../db/database.ts';
import { parkedKinds } from './parking.ts';
import { type Priority, priorities } from './targets.ts';

/*
 * Every read leaves a dead entry in the index of due targets. Postgres can't remove these entries while somebody holds
 * a snapshot (a long report, a dump, an idle transaction), and a scan from the start of the index visits them all. Due
 * times only grow, so a scan can begin at the oldest target that is still pending.
 */

/** The earliest `due_at` at which a scan for due targets begins. */
export interface DueFloor {
  of(priority: Priority): Date | '-infinity';
  /**
   * Raises the floor to the oldest pending target. Sometimes scans from the start of the index, to find the exceptions.
   */
  raise(): Promise<void>;
}

/** A target becomes visible when its transaction commits, which is later than its `due_at`. */
const commitsWithin = sql`interval '2 seconds'`;

/**
 * Milliseconds between two scans from the start of the index, and the share of time that they may take. Such a scan
 * finds targets that became due below the floor, because their transaction was long or their kind was parked.
 */
const scanEveryMs = 5_000;
const maxScanEveryMs = 60_000;
const scanShare = 0.05;

export function createDueFloor(db: Database): DueFloor {
  const floors: Record<Priority, Date | '-infinity'> = {
    [priorities.live]: '-infinity',
    [priorities.history]: '-infinity',
  };
  let scanAt = 0;

  return {
    of: (priority) => floors[priority],
    async raise() {
      const began = performance.now();
      const isScan = began >= scanAt;
      const oldest = (
        priority: Priority,
      ) => sql`least(now() - ${commitsWithin}, (select min(due_at) from ops.sync_targets
        where dirty_version > clean_version and priority = ${sql.lit(priority)} and due_at >= ${isScan ? '-infinity' : floors[priority]}
          and kind <> all(${parkedKinds})))`;
      const [row] = await hotQuery(
        db,
        sql<{
          live: Date;
          history: Date;
        }>`select ${oldest(priorities.live)} as live, ${oldest(priorities.history)} as history`,
      );
      if (!row) return;
      floors[priorities.live] = row.live;
      floors[priorities.history] = row.history;
      if (!isScan) return;
      const ended = performance.now();
      scanAt = ended + Math.min(Math.max(scanEveryMs, (ended - began) / scanShare), maxScanEveryMs);
    },
  };
}
