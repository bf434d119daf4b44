import { query, relation, sql, type Transaction } from '../db/database.ts';

/** What changed of the facts that reports count. */
export interface ReportChanges {
  /** Starts of calls, as they were and as they are. */
  readonly calls?: readonly Date[];
  /** When texts were sent, as it was and as it is. */
  readonly texts?: readonly Date[];
  /** Ids of conversations whose messages came, went or changed their order or sender. */
  readonly threads?: readonly string[];
}

/** These divide every local day and hour, whatever the time zone. */
const quarterMs = 900_000;

/**
 * Marks the reports that a change of the facts makes out of date. Belongs into the transaction of the change: the roll-ups then
 * never miss it. Call it with few large sets; moments of one quarter of an hour become one row.
 */
export async function markReports(
  tx: Transaction,
  { calls = [], texts = [], threads = [] }: ReportChanges,
): Promise<void> {
  const rows = [
    ...quartersOf(calls).map((bucketAt) => ({ kind: 'calls', bucketAt })),
    ...quartersOf(texts).map((bucketAt) => ({ kind: 'texts', bucketAt })),
    ...[...new Set(threads)].map((conversationId) => ({ kind: 'thread', conversationId })),
  ];
  if (rows.length === 0) return;
  const marked = relation('m', rows, {
    kind: 'text',
    bucket_at: ['timestamptz', (row) => ('bucketAt' in row ? row.bucketAt : null)],
    conversation_id: ['bigint', (row) => ('conversationId' in row ? row.conversationId : null)],
  });
  await query(
    tx,
    sql`insert into ops.rollup_markers (kind, bucket_at, conversation_id) select kind, bucket_at, conversation_id from ${marked}`,
  );
}

function quartersOf(moments: readonly Date[]): Date[] {
  return [...new Set(moments.map((moment) => Math.floor(Number(moment) / quarterMs) * quarterMs))].map(
    (at) => new Date(at),
  );
}
