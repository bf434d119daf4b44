import type { Drift } from '../service/client.ts';
import { type Database, query } from './database.ts';

/** Counts where answers differ from the specification; written in batches, since a drifting API drifts in every row. */
export interface DriftLog {
  note(operation: string, drift: readonly Drift[]): void;
  /** Writes what was counted since the last time. */
  flush(): Promise<void>;
}

export function createDriftLog(db: Database): DriftLog {
  let counted = new Map<string, Drift & { operation: string }>();

  function note(operation: string, drift: readonly Drift[]): void {
    for (const each of drift) {
      const key = [operation, each.path, each.what, each.sample].join(' ');
      const known = counted.get(key);
      if (known) known.count += each.count;
      else counted.set(key, { ...each, operation });
    }
  }

  return {
    note,
    async flush() {
      if (counted.size === 0) return;
      const writing = counted;
      counted = new Map();
      const rows = [...writing.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
      try {
        await query(
          db,
          `insert into ops.drift as d (operation, path, what, sample, seen_count)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
           on conflict (operation, path, what, sample) do update
             set seen_count = d.seen_count + excluded.seen_count, last_seen_at = now()`,
          [
            rows.map((row) => row.operation),
            rows.map((row) => row.path),
            rows.map((row) => row.what),
            rows.map((row) => row.sample),
            rows.map((row) => row.count),
          ],
        );
      } catch (error) {
        for (const row of rows) note(row.operation, [row]);
        throw error;
      }
    },
  };
}
