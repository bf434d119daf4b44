import { type Call, withFields } from '../../api-client/client.ts';
import { type DirtyTarget, priorities } from '../../inbox/targets.ts';
import { dayMs } from '../../shared/time-range.ts';
import { type HeldCall, momentOf, recordingsToExpect } from '../../warehouse/held-calls.ts';
import { provenance, type TargetReader } from '../read-result.ts';
import { nextRecheck, recheckDelays, soonest, untilEndRecheck } from '../rechecks.ts';

/** Reads one call with its legs (section 4.6), and marks the recordings that it should have dirty. */
export const readCall: TargetReader = async (claim, { service, db, now }, signal) => {
  const answer = await service.calls.get(claim.key, { signal, requestId: claim.deliveryId });
  const call = answer.data;
  const startedAt = call.startTime === undefined ? momentOf(claim.key) : new Date(call.startTime);
  const isEndAnnounced = call.endTime === undefined && claim.priority === priorities.live;
  const untilEnd = isEndAnnounced ? await untilEndRecheck(db, claim.key, now()) : undefined;
  return {
    entity: {
      kind: 'call',
      read: { call: withFields(call, { id: claim.key }), read: provenance(claim, 'calls.get') },
    },
    whenHeld: (held) => ({
      followUps: artefactsOf(call, held, claim.key, now()),
      recheckSeconds: soonest([
        recheckSeconds(call, startedAt, now()),
        untilLegs(call, held?.firstSeenAt, now()),
        untilEnd,
      ]),
    }),
  };
};

/** Milliseconds after the end of a call during which each read of the call also reads its missing recordings. */
const recordingsCanComeMs = dayMs;

/**
 * Recordings are read before transcripts, because they decide whether transcripts are expected. A call that wasn't
 * recorded has neither, until a later read reports `recorded`. Each read of the call reads missing recordings again.
 */
function artefactsOf(call: Call, held: HeldCall | undefined, callId: string, now: Date): DirtyTarget[] {
  const state = held?.recordingsState ?? null;
  const isRecordedNow = state === 'none' && (call.recorded === true || held?.isRecorded === false);
  const isNeverFound = state === 'gone' && held?.recordingCount === 0 && call.recorded === true;
  const isNeeded = call.recorded !== false && (state === null || isRecordedNow || isNeverFound);
  return isNeeded || isShort(call, held, now) ? [{ kind: 'recordings', key: callId }] : [];
}

function isShort(call: Call, held: HeldCall | undefined, now: Date): boolean {
  if (held?.recordingsState !== 'complete' || Number(now) - Number(held.endedAt) > recordingsCanComeMs) return false;
  const legCount = call.legs?.length ?? held.legCount;
  const transferredCount = call.transferred ?? held.transferredCount;
  return held.recordingCount < recordingsToExpect({ legCount, transferredCount });
}

/** The service lists running calls, and can set `recorded` just after the end: both need a recheck. */
function recheckSeconds(call: Call, startedAt: Date, now: Date): number | undefined {
  if (call.endTime === undefined) return nextRecheck(recheckDelays, startedAt, now);
  if (call.recorded === true || call.status === 'missed') return undefined;
  return nextRecheck(recheckDelays.slice(0, 1), new Date(call.endTime), now);
}

/**
 * Seconds after the end or the first read of a call at which missing legs are read again. Rules wait a minute for legs.
 */
const legsDelays: readonly number[] = [10, 25, 45];

/**
 * Rules act on calls that ended within the last ten minutes. Legs of older calls, as of a back-fill, aren't read again.
 */
const newsMs = 600_000;

function untilLegs({ endTime, legs = [] }: Call, firstSeenAt: Date | undefined, now: Date): number | undefined {
  if (endTime === undefined || legs.length > 0) return undefined;
  const endedAt = new Date(endTime);
  if (now.getTime() - endedAt.getTime() > newsMs) return undefined;
  return nextRecheck(legsDelays, new Date(Math.max(endedAt.getTime(), (firstSeenAt ?? now).getTime())), now);
}
