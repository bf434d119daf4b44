import type { Provenance } from './columns.ts';
import { type Database, hotQuery } from './database.ts';

/** Numbers a read that is about to begin, so that it never replaces what a later one found. */
export async function beginRead(db: Database, source: string): Promise<Provenance> {
  const [read] = await hotQuery<{ fetch_seq: string; fetched_at: Date }>(
    db,
    `select nextval('ops.fetch_seq') as fetch_seq, clock_timestamp() as fetched_at`,
    [],
  );
  if (!read) throw new Error('a sequence gave no number');
  return { fetchSeq: read.fetch_seq, fetchedAt: read.fetched_at.toISOString(), source };
}
