import type { Log } from '../src/log.ts';
import type { Reconciler } from '../src/sync/coverage/reconcile.ts';
import { type Database, query } from '../src/warehouse/database.ts';
import type { DriftLog } from '../src/warehouse/drift.ts';

export interface Maintenance {
  stop(): Promise<void>;
}

const driftEveryMs = 5_000;
const retentionEveryMs = 3_600_000;
const deletedAtOnce = 10_000;

/** The housekeeping of a worker: writes the drift that was counted, and ends the retention of old deliveries. */
export function createMaintenance(parts: {
  db: Database;
  log: Log;
  drift: DriftLog;
  reconciler: Reconciler;
  /** Milliseconds between two looks for hours of call history that are due. */
  reconcileEveryMs: number;
  retentionDays: number;
}): Maintenance {
  const { db, log, drift, reconciler, retentionDays } = parts;
  const doing = new Set<Promise<void>>();
  const stopping = new AbortController();

  /** Rounds of one kind never overlap: a long one is awaited by the next. */
  function every(ms: number, what: string, work: () => Promise<unknown>): NodeJS.Timeout {
    let isBusy = false;
    const round = () => {
      if (isBusy) return;
      isBusy = true;
      const done = work()
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error }, `${what} failed; it is tried again`),
        )
        .finally(() => {
          isBusy = false;
          doing.delete(done);
        });
      doing.add(done);
    };
    return setInterval(round, ms);
  }

  const timers = [
    every(driftEveryMs, 'Writing the drift of the API', () => drift.flush()),
    every(parts.reconcileEveryMs, 'Comparing call history', () => reconciler.round(stopping.signal)),
    every(retentionEveryMs, 'Ending the retention of deliveries', () => forgetDeliveries(db, retentionDays)),
  ];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      stopping.abort();
      await Promise.all(doing);
      await drift.flush().catch((error: unknown) => log.warn({ err: error }, 'The last drift could not be written'));
    },
  };
}

/** Removes deliveries older than so many days, some at a time, so that the inbox is never locked for long. */
export async function forgetDeliveries(db: Database, retentionDays: number): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const rows = await query(
      db,
      `delete from ops.deliveries where delivery_id in (
         select delivery_id from ops.deliveries where received_at < now() - $1 * interval '1 day'
         order by delivery_id limit $2)
       returning delivery_id`,
      [retentionDays, deletedAtOnce],
    );
    forgotten += rows.length;
    if (rows.length < deletedAtOnce) return forgotten;
  }
}
