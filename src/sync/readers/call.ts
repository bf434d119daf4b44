import type { Bump } from '../../inbox/bumps.ts';
import type { Call } from '../../service/entities/call.ts';
import { type HeldCall, heldCall, momentOf } from '../../warehouse/entities/calls/held-call.ts';
import { provenance, type TargetReader } from '../finding.ts';
import { nextLook } from '../looks.ts';

/** Reads one call with its legs (section 4.6), and asks for the recordings and transcripts that it should have. */
export const readCall: TargetReader = async (claim, room, signal) => {
  const answer = await room.service.calls.get(claim.key, { signal });
  room.onAnswer('calls.get', answer);
  const call = answer.data;
  const held = await heldCall(room.db, claim.key);
  return {
    finding: { kind: 'call', read: { call: { ...call, id: claim.key }, read: provenance(claim, 'calls.get') } },
    followUps: artefactsOf(call, held, claim.key),
    lookAgainSeconds: lookAgain(call, claim.key, room.looks, room.now()),
  };
};

/**
 * Recordings come first: what they show says whether transcripts can be expected. A call that says it was not recorded
 * has neither, until it says otherwise or a transcript is announced.
 */
function artefactsOf(call: Call, held: HeldCall | undefined, callId: string): Bump[] {
  const state = held?.recordingsState ?? null;
  const isOwed = call.recorded !== false && (state === null || (state === 'none' && held?.isRecorded === false));
  return isOwed ? [{ kind: 'recordings', key: callId }] : [];
}

// A call is listed while it lasts, and `recorded` can turn true just after its end; both are worth another look.
function lookAgain(call: Call, callId: string, looks: readonly number[], now: Date): number | undefined {
  const startedAt = call.startTime === undefined ? momentOf(callId) : new Date(call.startTime);
  if (call.endTime === undefined) return nextLook(looks, startedAt, now);
  if (call.recorded === true || call.status === 'missed') return undefined;
  return nextLook(looks.slice(0, 1), new Date(call.endTime), now);
}
