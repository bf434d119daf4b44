import type { Bump } from '../../inbox/bumps.ts';
import type { Claim } from '../../inbox/claims.ts';
import { type Answer, isNotFound } from '../../service/client.ts';
import type { Transcript } from '../../service/entities/transcript.ts';
import type { ArtefactState } from '../../warehouse/entities/calls/artefacts.ts';
import { type HeldCall, heldCalls, momentOf, recordingsToExpect } from '../../warehouse/entities/calls/held-call.ts';
import { type CallReading, provenance, type ReadingRoom, type TargetReader } from '../finding.ts';
import { nextLook, soonest } from '../looks/schedule.ts';

/** Where a call stands after a look, and when the next one is worth while. */
interface Standing {
  readonly state: ArtefactState;
  readonly lookAgainSeconds?: number | undefined;
}

/** Reads a call's recordings (section 4.6). `[]` is normal: they are looked for while the call should have some. */
export const readRecordings: TargetReader = async (claim, room, signal) => {
  const answer = await listed(room.service.calls.recordings(claim.key, { signal }), claim, room);
  const { data: recordings, isComplete } = answer;
  return (call) => {
    const standing = recordingsStanding(recordings.length, call, looksAhead(claim, call, room));
    const { state, lookAgainSeconds } = certain(standing, isComplete, call?.recordingCount, call?.recordingsState);
    return {
      finding: {
        kind: 'recordings',
        read: { callId: claim.key, recordings, isComplete, state, read: provenance(claim, 'calls.recordings') },
      },
      followUps: [...unknownCall(claim, call), ...transcriptsOwed(claim, call, state, recordings.length)],
      lookAgainSeconds: soonest([lookAgainSeconds, lookForLacking(claim, call, room, answer)]),
    };
  };
};

/** Reads a call's transcripts (section 4.6): one a recorded leg, once the analysis is through. */
export const readTranscripts: TargetReader = async (claim, room, signal) => {
  const answer = await listed(room.service.calls.transcripts(claim.key, { signal }), claim, room);
  const { data: transcripts, isComplete } = answer;
  const analysed = transcripts.filter(isAnalysed).length;
  return (call) => {
    const standing = transcriptsStanding(transcripts.length, analysed, call, looksAhead(claim, call, room));
    const { state, lookAgainSeconds } = certain(standing, isComplete, call?.transcriptCount, call?.transcriptsState);
    return {
      finding: {
        kind: 'transcripts',
        read: { callId: claim.key, transcripts, isComplete, state, read: provenance(claim, 'calls.transcripts') },
      },
      followUps: [...unknownCall(claim, call), ...recordingsOwed(claim, call, transcripts.length)],
      lookAgainSeconds: soonest([lookAgainSeconds, lookForLacking(claim, call, room, answer)]),
    };
  };
};

/** What an answer lists of a call. */
type Listed<T> = Pick<Answer<readonly T[]>, 'data' | 'isComplete' | 'lacking'>;

/**
 * What the service lists. Where it does not know a call that is held, or nothing of this kind on it yet, that is like an
 * empty list that may be partial, and looked for as late: a call that is gone, its own reads find out.
 */
async function listed<T>(answer: Promise<Answer<readonly T[]>>, claim: Claim, room: ReadingRoom): Promise<Listed<T>> {
  try {
    const came = await answer;
    room.onAnswer(`calls.${claim.kind}`, came);
    return came;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const call = (await heldCalls(room.db, [claim.key])).get(claim.key);
    if (call === undefined || call.isDeleted) throw error;
    return { data: [], isComplete: false, lacking: [] };
  }
}

/** The end of reads of artefacts that the credential may never make (section 5.2), or that found no such call. */
export function refusedArtefacts(claim: Claim, state: 'forbidden' | 'gone'): CallReading {
  const read = { callId: claim.key, isComplete: false, state };
  const from = provenance(claim, `calls.${claim.kind}`);
  return (call) =>
    claim.kind === 'recordings'
      ? {
          finding: { kind: 'recordings', read: { ...read, recordings: [], read: from } },
          followUps: [...unknownCall(claim, call), ...transcriptsOwed(claim, call, state, 0)],
        }
      : {
          finding: { kind: 'transcripts', read: { ...read, transcripts: [], read: from } },
          followUps: unknownCall(claim, call),
        };
}

/** The nearest looks that are still ahead, in seconds from now. */
interface LooksAhead {
  readonly next: number | undefined;
  /** For more than there is already. */
  readonly forMore: number | undefined;
}

function looksAhead(claim: Claim, call: HeldCall | undefined, { looks, now }: ReadingRoom): LooksAhead {
  const endedAt = call?.endedAt ?? momentOf(claim.key);
  return {
    next: nextLook(looksFor(call, looks), endedAt, now()),
    forMore: nextLook(looksForMore(looks), endedAt, now()),
  };
}

/**
 * Fewer looks than all while nothing is found, and nothing says whether the call was recorded: many services leave that
 * out where it was not. What nobody answered hardly ever was.
 */
function looksFor(call: HeldCall | undefined, looks: readonly number[]): readonly number[] {
  if (call === undefined || call.isRecorded !== null || call.recordingCount > 0) return looks;
  return call.isMissed ? looks.slice(0, 1) : [...new Set([...looksForMore(looks), ...looks.slice(-1)])];
}

/** Every other look of the schedule's beginning: by default after a minute, five, and an hour. */
function looksForMore(looks: readonly number[]): number[] {
  return looks.slice(0, 5).filter((_, at) => at % 2 === 0);
}

/** An analysis that is not through can list its transcript before there is anything in it. */
function isAnalysed({ segments, shortSummary }: Transcript): boolean {
  return segments === undefined || segments.length > 0 || shortSummary !== undefined;
}

function lookForLacking(
  claim: Claim,
  call: HeldCall | undefined,
  { doubts }: ReadingRoom,
  { lacking }: { readonly lacking: readonly string[] },
): number | undefined {
  const since = firstHad(claim, call);
  return doubts.lookAgainAt({ operation: `calls.${claim.kind}`, key: claim.key, lacking, since });
}

/** When a call's artefacts could first be had: after its end, and when the call was met, in a back-fill long after. */
function firstHad(claim: Claim, call: HeldCall | undefined): Date {
  return call === undefined ? momentOf(claim.key) : new Date(Math.max(Number(call.endedAt), Number(call.firstSeenAt)));
}

/** An answer that may be partial proves no absence: what was held is still there. */
function certain(
  standing: Standing,
  isComplete: boolean,
  heldCount: number | undefined,
  held: ArtefactState | null | undefined,
): Standing {
  return standing.state === 'gone' && !isComplete && heldCount ? { state: held ?? 'pending' } : standing;
}

/** Where recordings stand after a look that listed so many. */
function recordingsStanding(listed: number, call: HeldCall | undefined, ahead: LooksAhead): Standing {
  // An early look may come before the last recording.
  if (listed > 0) {
    const isShort = call === undefined || listed < recordingsToExpect(call);
    return { state: 'complete', lookAgainSeconds: isShort ? ahead.forMore : undefined };
  }
  if (call && call.recordingCount > 0) return { state: 'gone' };
  if (call?.isRecorded === false) return { state: 'none' };
  if (ahead.next !== undefined) return { state: 'pending', lookAgainSeconds: ahead.next };
  return { state: call?.isRecorded ? 'gone' : 'none' };
}

/** Where transcripts stand after a look that listed so many, so many of them with content; the analysis goes leg by leg. */
function transcriptsStanding(
  listed: number,
  analysed: number,
  call: HeldCall | undefined,
  ahead: LooksAhead,
): Standing {
  const expected = Math.max(1, call?.recordingCount ?? 1);
  if (analysed >= expected) return { state: 'complete' };
  if (listed === 0 && call && call.transcriptCount > 0) return { state: 'gone' };
  if (listed === 0 && call?.isRecorded === false && call.recordingCount === 0) return { state: 'none' };
  if (ahead.next !== undefined) return { state: 'pending', lookAgainSeconds: ahead.next };
  return { state: listed > 0 ? 'complete' : 'none' };
}

/** An artefact whose call was never read: the call is worth a read of its own. */
function unknownCall(claim: Claim, call: HeldCall | undefined): Bump[] {
  return call ? [] : [{ kind: 'call', key: claim.key }];
}

/**
 * Transcripts are made from recordings, so they are read when those are found, or will not be; and again when there are
 * more recordings than transcripts are held.
 */
function transcriptsOwed(claim: Claim, call: HeldCall | undefined, state: ArtefactState, recordings: number): Bump[] {
  const isSettled = call?.transcriptsState != null && call.transcriptsState !== 'pending';
  const isShort = recordings > Math.max(call?.recordingCount ?? 0, call?.transcriptCount ?? 0);
  return state === 'pending' || (isSettled && !isShort) ? [] : [{ kind: 'transcripts', key: claim.key }];
}

/** Each transcript proves a recording: one that is not held, and not known to be gone, is worth a look now. */
function recordingsOwed(claim: Claim, call: HeldCall | undefined, listed: number): Bump[] {
  const isHeld =
    call?.recordingsState === 'forbidden' ||
    (call?.recordingsState === 'complete' && (listed <= call.recordingCount || listed <= call.transcriptCount));
  return listed > 0 && call && !isHeld ? [{ kind: 'recordings', key: claim.key }] : [];
}
