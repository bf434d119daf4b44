import { type Call, type CallSummary, type Leg, partiesOf, type Transcript } from '../account.ts';
import { callTemplateOf, generateTranscript, isSummarized } from '../seed/call-scripts.ts';
import { rfc3339 } from '../time.ts';
import type { Links } from './files.ts';

const shortestTranscriptSeconds = 15;

export function callSummary({ start, sequence, internal, caller, called, legs, legsAt, ...call }: Call): CallSummary {
  const { transcriptSeed, recordingsAt, transcriptsAt, transcripts, shown, ...summary } = call;
  if (shown === undefined) return summary;
  const { legs: _, ...fields } = shown;
  return asShown(summary, fields);
}

/** The answer with fields that differ, as an odd service might show them. */
function asShown<T extends object>(answer: T, shown: Readonly<Record<string, unknown>>): T {
  const fields = Object.entries({ ...answer, ...shown }).filter(([, value]) => value !== null);
  return Object.fromEntries(fields) as T;
}

/** GET /calls/{callid}: the summary with its legs. */
export function callWithLegs(call: Call, now: number) {
  const isListed = call.legsAt === undefined || call.legsAt <= now;
  const legs = isListed ? call.legs.map((leg, index) => legResource(call, leg, index)) : [];
  const whole = { ...callSummary(call), legs };
  return call.shown?.legs === undefined ? whole : asShown(whole, { legs: call.shown.legs });
}

export function uniqueIdOf(call: Call, leg: Leg): string {
  return `${call.start + leg.offset}.${leg.sequence}`;
}

/** A transferred leg and the legs after it have a call id of their own (2.10). */
function legCallId(call: Call, leg: Leg): string {
  const at = call.legs.indexOf(leg);
  const transfer = call.legs.findLast((other, index) => index <= at && other.transferred);
  return transfer === undefined ? call.id : uniqueIdOf(call, transfer);
}

/** Assumed: the specification doesn't show all fields of a leg. */
function legResource(call: Call, leg: Leg, index: number) {
  const begin = (call.start + leg.offset) * 1000;
  const before = call.legs[index - 1];
  return {
    uniqueId: uniqueIdOf(call, leg),
    callId: legCallId(call, leg),
    bridgedFromCallId: before === undefined ? undefined : uniqueIdOf(call, before),
    status: leg.outcome,
    ...partiesOf(leg.from, leg.to),
    startTime: rfc3339(begin),
    endTime: call.endTime && rfc3339(begin + (leg.ringSeconds + leg.talkSeconds) * 1000),
    durationSeconds: leg.ringSeconds + leg.talkSeconds,
    talkTimeSeconds: leg.talkSeconds,
    recorded: leg.recorded,
  };
}

/** The recordings that are ready, one per recorded leg (2.10). */
export function recordingsOf(call: Call, now: number, links: Links) {
  if (call.recordingsAt === null || call.recordingsAt > now) return [];
  return call.legs
    .filter((leg) => leg.recorded)
    .map((leg) => ({
      uniqueId: uniqueIdOf(call, leg),
      callId: legCallId(call, leg),
      url: links.recording(uniqueIdOf(call, leg)),
      startTime: rfc3339((call.start + leg.offset) * 1000),
      durationSeconds: leg.ringSeconds + leg.talkSeconds,
      talkTimeSeconds: leg.talkSeconds,
      from: leg.from.number,
      to: leg.to.number,
    }));
}

/** The transcripts that are ready, one per recorded leg that is long enough (2.11). */
export function transcriptsOf(call: Call, now: number): Transcript[] {
  if (call.transcriptsAt === null || call.transcriptsAt > now) return [];
  return call.transcripts ?? generatedTranscripts(call);
}

/** The transcripts of a call, ready or not. */
export function generatedTranscripts(call: Call): Transcript[] {
  return transcribedLegs(call).map((leg) => generateTranscript(call, leg, uniqueIdOf(call, leg)));
}

export type Topic = Pick<Transcript, 'callPurpose' | 'callSentiment'>;

/** Purpose and sentiment of the transcripts that are ready, without generating their text. */
export function topicsOf(call: Call, now: number): Topic[] {
  if (call.transcriptsAt === null || call.transcriptsAt > now) return [];
  if (call.transcripts !== undefined) return call.transcripts;
  const { purpose, sentiment } = callTemplateOf(call);
  const hasSummary = transcribedLegs(call).some((leg) => isSummarized(call, leg));
  return hasSummary ? [{ callPurpose: purpose, callSentiment: sentiment }] : [];
}

function transcribedLegs(call: Call): Leg[] {
  return call.legs.filter((leg) => leg.recorded && leg.talkSeconds >= shortestTranscriptSeconds);
}
