import type { Provenance } from '../../columns.ts';
import { hotQuery, type Transaction } from '../../database.ts';

/** Where the daemon stands with what belongs to a call but is read, and may appear, on its own. */
export type ArtefactState = 'pending' | 'complete' | 'none' | 'gone' | 'forbidden';

/** One read of a call's recordings or transcripts. */
export interface ArtefactRead {
  readonly callId: string;
  /** The answer surely listed everything: what it lacks exists no more. */
  readonly isComplete: boolean;
  readonly state: ArtefactState;
  readonly read: Provenance;
}

/**
 * The reads that are newer than what their calls' artefacts were last read with, with the calls locked: reads of one call
 * are written one after the other, and a late one is left out.
 */
export async function currentArtefactReads<R extends ArtefactRead>(
  tx: Transaction,
  kind: 'recordings' | 'transcripts',
  reads: readonly R[],
): Promise<R[]> {
  const rows = await hotQuery<{ call_id: string; fetched_at: Date | null }>(
    tx,
    `select call_id, ${kind}_fetched_at as fetched_at from warehouse.calls
     where call_id = any($1) order by call_id for update`,
    [reads.map(({ callId }) => callId)],
  );
  const newest = new Map(rows.map((row) => [row.call_id, row.fetched_at]));
  return reads.filter(({ callId, read }) => {
    const fetchedAt = newest.get(callId);
    return !fetchedAt || fetchedAt <= new Date(read.fetchedAt);
  });
}

/**
 * Marks artefacts that complete reads no longer list as deleted, and records on the calls what is held and where the
 * daemon stands. Runs after the upsert of what was listed, in the same transaction.
 */
export async function recordArtefactReads(
  tx: Transaction,
  kind: 'recordings' | 'transcripts',
  reads: readonly ArtefactRead[],
): Promise<void> {
  const count = kind === 'recordings' ? 'recording_count' : 'transcript_count';
  await hotQuery(
    tx,
    `update warehouse.${kind} x
     set deleted_at = now(), deleted_reason = 'the call no longer lists it', changed_at = now(), fetch_seq = r.fetch_seq
     from unnest($1::text[], $2::bigint[], $3::boolean[]) as r (call_id, fetch_seq, is_complete)
     where r.is_complete and x.call_id = r.call_id and x.fetch_seq < r.fetch_seq and x.deleted_at is null`,
    [
      reads.map(({ callId }) => callId),
      reads.map(({ read }) => read.fetchSeq),
      reads.map(({ isComplete }) => isComplete),
    ],
  );
  await hotQuery(
    tx,
    `update warehouse.calls c set
       ${kind}_fetched_at = r.fetched_at, ${kind}_state = r.state,
       ${count} = case when r.state = 'forbidden' then c.${count} else
         (select count(*) from warehouse.${kind} x where x.call_id = c.call_id and x.deleted_at is null) end
     from unnest($1::text[], $2::timestamptz[], $3::text[]) as r (call_id, fetched_at, state)
     where c.call_id = r.call_id`,
    [reads.map(({ callId }) => callId), reads.map(({ read }) => read.fetchedAt), reads.map(({ state }) => state)],
  );
}
