import { type Database, hotQuery } from '../../database.ts';
import type { ArtefactState } from './artefacts.ts';

/** What the mirror holds of a call that decides what else to read of it. */
export interface HeldCall {
  readonly isRecorded: boolean | null;
  readonly isMissed: boolean;
  readonly isDeleted: boolean;
  /** The start, else the second in the call id. */
  readonly startedAt: Date;
  /** The end, else what the duration makes it, else the start, else the second in the call id. */
  readonly endedAt: Date;
  readonly firstSeenAt: Date;
  readonly transferredCount: number | null;
  /** Null while its legs were never read. */
  readonly legCount: number | null;
  readonly recordingsState: ArtefactState | null;
  readonly recordingCount: number;
  readonly transcriptsState: ArtefactState | null;
  readonly transcriptCount: number;
}

/**
 * How many recordings a call may come to have: one a leg, and one a party that it was transferred to. Two where nothing
 * tells; a list without legs does not.
 */
export function recordingsToExpect({
  legCount,
  transferredCount,
}: Pick<HeldCall, 'legCount' | 'transferredCount'>): number {
  const parties = 1 + (transferredCount ?? 0);
  return legCount === null && transferredCount !== null ? parties : Math.max(legCount || 2, parties);
}

/** Looks calls up by their ids; those that are not held are left out. */
export async function heldCalls(db: Database, callIds: readonly string[]): Promise<ReadonlyMap<string, HeldCall>> {
  const rows = await hotQuery<HeldCall & { callId: string }>(
    db,
    `select call_id as "callId", is_recorded as "isRecorded",
       status is not distinct from 'missed' as "isMissed", deleted_at is not null as "isDeleted",
       coalesce(ended_at, coalesce(started_at, to_timestamp(call_epoch)) + coalesce(duration_seconds, 0) * interval '1 second') as "endedAt",
       coalesce(started_at, to_timestamp(call_epoch)) as "startedAt", first_seen_at as "firstSeenAt",
       transferred_count as "transferredCount", leg_count as "legCount", recordings_state as "recordingsState",
       coalesce(recording_count, 0) as "recordingCount", transcripts_state as "transcriptsState",
       coalesce(transcript_count, 0) as "transcriptCount"
     from warehouse.calls where call_id = any($1)`,
    [callIds],
  );
  return new Map(rows.map((row) => [row.callId, row]));
}

/** The moment that a call id names: Unix seconds before its dot (section 2.9). */
export function momentOf(callId: string): Date {
  return new Date(Number(callId.split('.')[0]) * 1000);
}
