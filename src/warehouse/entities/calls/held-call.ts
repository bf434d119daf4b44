import { type Database, query } from '../../database.ts';
import type { ArtefactState } from './artefacts.ts';

/** What the mirror holds of a call that decides what else to read of it. */
export interface HeldCall {
  readonly isRecorded: boolean | null;
  /** The end, else the start, else the second in the call id. */
  readonly endedAt: Date;
  readonly transferredCount: number | null;
  readonly recordingsState: ArtefactState | null;
  readonly recordingCount: number;
  readonly transcriptsState: ArtefactState | null;
  readonly transcriptCount: number;
}

export async function heldCall(db: Database, callId: string): Promise<HeldCall | undefined> {
  const [held] = await query<HeldCall>(
    db,
    `select is_recorded as "isRecorded", coalesce(ended_at, started_at, to_timestamp(call_epoch)) as "endedAt",
       transferred_count as "transferredCount", recordings_state as "recordingsState",
       coalesce(recording_count, 0) as "recordingCount", transcripts_state as "transcriptsState",
       coalesce(transcript_count, 0) as "transcriptCount"
     from warehouse.calls where call_id = $1`,
    [callId],
  );
  return held;
}

/** The moment that a call id names: Unix seconds before its dot (section 2.9). */
export function momentOf(callId: string): Date {
  return new Date(Number(callId.split('.')[0]) * 1000);
}
