import type { Bump } from '../../inbox/bumps.ts';
import { priorities } from '../../inbox/target.ts';
import { withFields } from '../../service/answers/fields.ts';
import { isNotFound } from '../../service/client.ts';
import type { Call } from '../../service/entities/call.ts';
import { type HeldCall, heldCalls, momentOf, recordingsToExpect } from '../../warehouse/entities/calls/held-call.ts';
import type { CallLister } from '../coverage/listing.ts';
import { provenance, type ReadingRoom, type TargetReader } from '../finding.ts';
import { untilEndShows } from '../looks/ended-calls.ts';
import { nextLook, soonest } from '../looks/schedule.ts';
import { isLastMiss } from '../outcome.ts';

/**
 * Reads one call with its legs (section 4.6), and asks for the recordings and transcripts that it should have. Before one
 * that is held is given up, the history is searched for it: what it lists is there, whether or not it can be read.
 */
export function createCallReader(lister: CallLister): TargetReader {
  return async (claim, room, signal) => {
    const answer = await room.service.calls.get(claim.key, { signal }).catch(async (error: unknown) => {
      const isMissing = isNotFound(error) && isLastMiss(claim);
      if (isMissing && (await isListed(claim.key, lister, room, signal))) return undefined;
      throw error;
    });
    if (answer === undefined) return { unshown: 'the history lists the call, and three spaced reads did not find it' };
    room.onAnswer('calls.get', answer);
    const call = answer.data;
    const startedAt = call.startTime === undefined ? momentOf(claim.key) : new Date(call.startTime);
    const { lacking } = answer;
    const isAwaited = call.endTime === undefined && claim.priority === priorities.live;
    const untilEnd = isAwaited ? await untilEndShows(room.db, claim.key, room.now()) : undefined;
    return (held) => {
      const since = new Date(Math.max(Number(startedAt), Number(held?.firstSeenAt ?? room.now())));
      return {
        finding: {
          kind: 'call',
          read: { call: withFields(call, { id: claim.key }), read: provenance(claim, 'calls.get') },
        },
        followUps: artefactsOf(call, held, claim.key, room.now()),
        lookAgainSeconds: soonest([
          lookAgain(call, startedAt, room.looks, room.now()),
          untilEnd,
          room.doubts.lookAgainAt({ operation: 'calls.get', key: claim.key, lacking, since }),
        ]),
      };
    };
  };
}

/** Whether the history lists a call that is held, at the second that it began in. */
async function isListed(
  callId: string,
  lister: CallLister,
  { db }: Pick<ReadingRoom, 'db'>,
  signal: AbortSignal,
): Promise<boolean> {
  const held = (await heldCalls(db, [callId])).get(callId);
  if (held === undefined) return false;
  const second = Math.floor(Number(held.startedAt) / 1_000);
  const { calls } = await lister.list({ from: second, to: second + 1 }, async () => undefined, signal);
  return calls.has(callId);
}

/** So long after its end, a call that is hinted at again may have got a recording that no look found. */
const recordingsCanComeMs = 86_400_000;

/**
 * Recordings come first: what they show says whether transcripts can be expected. A call that says it was not recorded
 * has neither, until it says otherwise, to whichever read, or a transcript is announced. One whose recordings were never
 * found, or that has fewer than it may come to have, is worth another read of them whenever it is worth one itself.
 */
function artefactsOf(call: Call, held: HeldCall | undefined, callId: string, now: Date): Bump[] {
  const state = held?.recordingsState ?? null;
  const saysOtherwise = state === 'none' && (call.recorded === true || held?.isRecorded === false);
  const isNeverFound = state === 'gone' && held?.recordingCount === 0 && call.recorded === true;
  const isOwed = call.recorded !== false && (state === null || saysOtherwise || isNeverFound);
  return isOwed || isShort(call, held, now) ? [{ kind: 'recordings', key: callId }] : [];
}

function isShort(call: Call, held: HeldCall | undefined, now: Date): boolean {
  if (held?.recordingsState !== 'complete' || Number(now) - Number(held.endedAt) > recordingsCanComeMs) return false;
  const legCount = call.legs?.length ?? held.legCount;
  const transferredCount = call.transferred ?? held.transferredCount;
  return held.recordingCount < recordingsToExpect({ legCount, transferredCount });
}

// A call is listed while it lasts, and `recorded` can turn true just after its end; both are worth another look.
function lookAgain(call: Call, startedAt: Date, looks: readonly number[], now: Date): number | undefined {
  if (call.endTime === undefined) return nextLook(looks, startedAt, now);
  if (call.recorded === true || call.status === 'missed') return undefined;
  return nextLook(looks.slice(0, 1), new Date(call.endTime), now);
}
