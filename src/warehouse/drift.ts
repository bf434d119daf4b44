import type { Answer, Drift } from '../api-client/client.ts';
import { type Database, query, relation, sql } from '../db/database.ts';

/** Called with every answer, to count its drift. */
export type OnAnswer = (operation: string, answer: Pick<Answer<unknown>, 'drift' | 'isComplete'>) => void;

export type DriftLog = ReturnType<typeof createDriftLog>;

/**
 * Counts differences between answers and the specification. Writes in batches, because drift usually repeats in every
 * row.
 */
export function createDriftLog(db: Database) {
  let counted = new Map<string, Drift & { operation: string }>();

  function add(operation: string, drift: readonly Drift[]): void {
    for (const each of drift) {
      const key = [operation, each.path, each.what, each.sample].join(' ');
      const known = counted.get(key);
      if (known) known.count += each.count;
      else counted.set(key, { ...each, operation });
    }
  }

  return {
    add,
    /** Writes the counts since the last flush. If this fails, it rejects, and the next flush writes them. */
    async flush(): Promise<void> {
      if (counted.size === 0) return;
      const writing = counted;
      counted = new Map();
      const rows = [...writing.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
      try {
        await query(
          db,
          sql`
            insert into ops.drift as d (operation, path, what, sample, seen_count)
            select operation, path, what, sample, seen_count
            from ${relation('seen', rows, {
              operation: 'text',
              path: 'text',
              what: 'text',
              sample: 'text',
              seen_count: ['bigint', (row) => row.count],
            })}
            on conflict (operation, path, what, sample) do update
              set seen_count = d.seen_count + excluded.seen_count, last_seen_at = now()`,
        );
      } catch (error) {
        for (const row of rows) add(row.operation, [row]);
        throw error;
      }
    },
  };
}
