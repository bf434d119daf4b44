import { type Answer, isNotFound, type Transcript } from '../../api-client/client.ts';
import type { Claim } from '../../inbox/claims.ts';
import type { DirtyTarget } from '../../inbox/targets.ts';
import type { ArtefactState } from '../../warehouse/held-calls.ts';
import { type HeldCall, heldCall, momentOf, recordingsToExpect } from '../../warehouse/held-calls.ts';
import { provenance, type ReadContext, type ReadResult, type TargetReader } from '../read-result.ts';
import { nextRecheck, recheckDelays } from '../rechecks.ts';

/** The state of a call's artefacts after a read, and when they are read again. */
interface Progress {
  readonly state: ArtefactState;
  readonly recheckSeconds?: number | undefined;
}

/** Reads a call's recordings (section 4.6). `[]` is normal: they can appear later, so the call is rechecked. */
export const readRecordings: TargetReader = async (claim, context, signal) => {
  const { data: recordings, isComplete } = await list(
    context.service.calls.recordings(claim.key, { signal, requestId: claim.deliveryId }),
    claim,
    context,
  );
  return {
    whenHeld(call) {
      const rechecks = rechecksOf(claim, call, context);
      const { state, recheckSeconds } = recordingsProgress(recordings.length, isComplete, call, rechecks);
      const read = { callId: claim.key, recordings, isComplete, state, read: provenance(claim, 'calls.recordings') };
      return {
        entity: { kind: 'recordings', read },
        followUps: [...unknownCall(claim, call), ...transcriptsToRead(claim, call, state, recordings.length)],
        recheckSeconds,
      };
    },
  };
};

/** Reads a call's transcripts (section 4.6). There is one per recorded leg, after the analysis has finished. */
export const readTranscripts: TargetReader = async (claim, context, signal) => {
  const { data: transcripts, isComplete } = await list(
    context.service.calls.transcripts(claim.key, { signal, requestId: claim.deliveryId }),
    claim,
    context,
  );
  const analysed = transcripts.filter(isAnalysed).length;
  return {
    whenHeld(call) {
      const rechecks = rechecksOf(claim, call, context);
      const counts = { listed: transcripts.length, analysed };
      const { state, recheckSeconds } = transcriptsProgress(counts, isComplete, call, rechecks);
      const read = { callId: claim.key, transcripts, isComplete, state, read: provenance(claim, 'calls.transcripts') };
      return {
        entity: { kind: 'transcripts', read },
        followUps: [...unknownCall(claim, call), ...recordingsToRead(claim, call, transcripts.length)],
        recheckSeconds,
      };
    },
  };
};

interface Listed<T> {
  readonly data: readonly T[];
  readonly isComplete: boolean;
}

/**
 * The rows that the service lists. A 404 for a held call counts as a partial, empty list: the reads of the call itself
 * decide whether it is gone.
 */
async function list<T>(asked: Promise<Answer<readonly T[]>>, claim: Claim, context: ReadContext): Promise<Listed<T>> {
  try {
    return { data: (await asked).data, isComplete: true };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const call = await heldCall(context.db, claim.key);
    if (call === undefined || call.isDeleted) throw error;
    return { data: [], isComplete: false };
  }
}

/** The result of a read of artefacts that was forbidden (section 5.2) or whose call wasn't found. */
export function refusedArtefacts(
  claim: Claim,
  state: 'forbidden' | 'gone',
  call: HeldCall | undefined,
): Omit<ReadResult, 'whenHeld'> {
  const read = { callId: claim.key, isComplete: false, state, read: provenance(claim, `calls.${claim.kind}`) };
  const followUps = unknownCall(claim, call);
  return claim.kind === 'recordings'
    ? {
        entity: { kind: 'recordings', read: { ...read, recordings: [] } },
        followUps: [...followUps, ...transcriptsToRead(claim, call, state, 0)],
      }
    : { entity: { kind: 'transcripts', read: { ...read, transcripts: [] } }, followUps };
}

/** Seconds until the next recheck. */
interface Rechecks {
  readonly forAny: number | undefined;
  /** When more recordings are expected than were listed: every other of the first five delays. */
  readonly forMore: number | undefined;
}

function rechecksOf(claim: Claim, call: HeldCall | undefined, { now }: ReadContext): Rechecks {
  const endedAt = call?.endedAt ?? momentOf(claim.key);
  const delaysForMore = recheckDelays.slice(0, 5).filter((_, at) => at % 2 === 0);
  return {
    forAny: nextRecheck(recheckDelays, endedAt, now()),
    forMore: nextRecheck(delaysForMore, endedAt, now()),
  };
}

/** The service may list a transcript without content until its analysis has finished. */
function isAnalysed({ segments, shortSummary }: Transcript): boolean {
  return segments === undefined || segments.length > 0 || shortSummary !== undefined;
}

/** The state when the service lists no artefact but the mirror holds some. A partial list proves no deletion. */
function unlisted(isComplete: boolean, held: ArtefactState | null): Progress {
  return { state: isComplete ? 'gone' : (held ?? 'pending') };
}

function recordingsProgress(
  listed: number,
  isComplete: boolean,
  call: HeldCall | undefined,
  rechecks: Rechecks,
): Progress {
  if (listed > 0) {
    // The service may not list the last recording yet.
    const isShort = call === undefined || listed < recordingsToExpect(call);
    return { state: 'complete', recheckSeconds: isShort ? rechecks.forMore : undefined };
  }
  if (call && call.recordingCount > 0) return unlisted(isComplete, call.recordingsState);
  if (call?.isRecorded === false) return { state: 'none' };
  if (rechecks.forAny !== undefined) return { state: 'pending', recheckSeconds: rechecks.forAny };
  return { state: call?.isRecorded ? 'gone' : 'none' };
}

function transcriptsProgress(
  { listed, analysed }: { listed: number; analysed: number },
  isComplete: boolean,
  call: HeldCall | undefined,
  rechecks: Rechecks,
): Progress {
  const expected = Math.max(1, call?.recordingCount ?? 1);
  if (analysed >= expected) return { state: 'complete' };
  if (listed === 0 && call && call.transcriptCount > 0) return unlisted(isComplete, call.transcriptsState);
  if (listed === 0 && call?.isRecorded === false && call.recordingCount === 0) return { state: 'none' };
  if (rechecks.forAny !== undefined) return { state: 'pending', recheckSeconds: rechecks.forAny };
  return { state: listed > 0 ? 'complete' : 'none' };
}

function unknownCall(claim: Claim, call: HeldCall | undefined): DirtyTarget[] {
  return call ? [] : [{ kind: 'call', key: claim.key }];
}

/**
 * Transcripts are made from recordings. They are read once the recordings were found or given up, and again when there
 * are more recordings than held transcripts.
 */
function transcriptsToRead(
  claim: Claim,
  call: HeldCall | undefined,
  state: ArtefactState,
  recordings: number,
): DirtyTarget[] {
  const isSettled = call?.transcriptsState != null && call.transcriptsState !== 'pending';
  const isShort = recordings > Math.max(call?.recordingCount ?? 0, call?.transcriptCount ?? 0);
  return state === 'pending' || (isSettled && !isShort) ? [] : [{ kind: 'transcripts', key: claim.key }];
}

/**
 * Each transcript has a recording: recordings are read again when more transcripts are listed than recordings are held.
 */
function recordingsToRead(claim: Claim, call: HeldCall | undefined, listed: number): DirtyTarget[] {
  const isHeld =
    call?.recordingsState === 'forbidden' ||
    (call?.recordingsState === 'complete' && (listed <= call.recordingCount || listed <= call.transcriptCount));
  return listed > 0 && call && !isHeld ? [{ kind: 'recordings', key: claim.key }] : [];
}
