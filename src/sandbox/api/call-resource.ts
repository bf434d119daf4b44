import { z } from 'zod';
import type { Call, Leg, Transcript } from '../account.ts';
import { callTemplateOf, generateTranscript, isSummarized } from '../seed/transcripts.ts';
import { rfc3339 } from '../time.ts';
import type { Links } from './files.ts';

const shortestTranscriptSeconds = 15;

const callerTypes = 'external, user, queue, huntgroup; others appear.';

const party = {
  callerType: z.string().describe(callerTypes),
  callerName: z.string(),
  callerNumber: z.string().describe('An extension on an internal leg.'),
  calledType: z.string().describe(callerTypes),
  calledName: z.string(),
  calledNumber: z.string(),
};

/** Section 2.9, a row of call search. */
export const callSummarySchema = z
  .object({
    id: z.string().describe('Unix timestamp, a dot, a sequence number. Keep it as text.'),
    direction: z.enum(['inbound', 'outbound']),
    status: z.enum(['answered', 'missed', 'voicemail', 'unknown']),
    statusCode: z.int().describe('-1 missed, 0 voicemail, otherwise the number of people who answered.'),
    ...party,
    dialledNumber: z.string().describe('The dialled number; for inbound calls the DID.'),
    callerIdInternal: z.string(),
    callerIdExternal: z.string(),
    startTime: z.string(),
    endTime: z.string().optional().describe('Absent for a call without a recorded end.'),
    durationSeconds: z.int().describe('Includes enqueuing.'),
    talkTimeSeconds: z.int(),
    transferred: z.int().describe('Number of transfers.'),
    abandoned: z.boolean(),
    recorded: z.boolean(),
    calledBack: z.string().optional().describe('Id of the call that returned this one.'),
    repeated: z.int(),
  })
  .meta({ id: 'CallSummary' });

/** Assumed: the specification does not show all fields of a leg. */
const legSchema = z
  .object({
    uniqueId: z.string(),
    callId: z.string(),
    bridgedFromCallId: z.string().optional(),
    status: z.string(),
    ...party,
    startTime: z.string(),
    endTime: z.string().optional(),
    durationSeconds: z.int(),
    talkTimeSeconds: z.int(),
    recorded: z.boolean(),
  })
  .meta({ id: 'CallLeg' });

/** GET /calls/{callid}: the summary with its legs. */
export const callSchema = callSummarySchema.extend({ legs: z.array(legSchema) }).meta({ id: 'Call' });

/** Section 2.10. */
export const recordingSchema = z
  .object({
    uniqueId: z.string(),
    callId: z.string().describe('After a transfer it can differ from the requested call.'),
    url: z.string().describe('Signed; valid without a credential.'),
    startTime: z.string(),
    durationSeconds: z.int(),
    talkTimeSeconds: z.int(),
    from: z.string(),
    to: z.string(),
  })
  .meta({ id: 'Recording' });

/** The sort fields of a search: those of a call summary (2.9). */
export const summaryFields = callSummarySchema.keyof().options;

export type CallSummary = z.output<typeof callSummarySchema>;

/** One object literal, for speed: benches render hundreds of pages of 500 rows a second. */
export function callSummary(call: Call): CallSummary {
  const { caller, called } = call;
  const summary = {
    id: call.id,
    direction: call.direction,
    status: call.status,
    statusCode: statusCode(call),
    callerType: caller.type,
    callerName: caller.name,
    callerNumber: caller.number,
    calledType: called.type,
    calledName: called.name,
    calledNumber: called.number,
    dialledNumber: call.dialled,
    callerIdInternal: call.callerIdInternal,
    callerIdExternal: call.callerIdExternal,
    startTime: rfc3339(call.start * 1000),
    endTime: call.hasEnd ? rfc3339((call.start + call.duration) * 1000) : undefined,
    durationSeconds: call.duration,
    talkTimeSeconds: call.talk,
    transferred: call.transfers,
    abandoned: call.abandoned,
    recorded: call.recorded,
    calledBack: call.calledBack,
    repeated: call.repeated,
  };
  if (call.shown === undefined) return summary;
  const { legs: _, ...shown } = call.shown;
  return asShown(summary, shown);
}

/** The answer with fields that differ, as an odd service might show them. */
function asShown<T extends object>(answer: T, shown: Readonly<Record<string, unknown>>): T {
  const fields = Object.entries({ ...answer, ...shown }).filter(([, value]) => value !== null);
  return Object.fromEntries(fields) as T;
}

export function callWithLegs(call: Call, now: number): z.output<typeof callSchema> {
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

function legResource(call: Call, leg: Leg, index: number): z.output<typeof callSchema>['legs'][number] {
  const begin = (call.start + leg.offset) * 1000;
  const before = call.legs[index - 1];
  return {
    uniqueId: uniqueIdOf(call, leg),
    callId: legCallId(call, leg),
    bridgedFromCallId: before === undefined ? undefined : uniqueIdOf(call, before),
    status: leg.outcome,
    callerType: leg.from.type,
    callerName: leg.from.name,
    callerNumber: leg.from.number,
    calledType: leg.to.type,
    calledName: leg.to.name,
    calledNumber: leg.to.number,
    startTime: rfc3339(begin),
    endTime: call.hasEnd ? rfc3339(begin + (leg.ringSeconds + leg.talkSeconds) * 1000) : undefined,
    durationSeconds: leg.ringSeconds + leg.talkSeconds,
    talkTimeSeconds: leg.talkSeconds,
    recorded: leg.recorded,
  };
}

/** Section 2.9. The code of `unknown` is assumed. */
export function statusCode({ status, answeredBy }: Call): number {
  return { missed: -1, voicemail: 0, answered: answeredBy, unknown: -2 }[status];
}

/** The recordings that are ready, one per recorded leg (2.10). */
export function recordingsOf(call: Call, now: number, links: Links): z.output<typeof recordingSchema>[] {
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
