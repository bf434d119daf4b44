import type { z } from 'zod';
import type { Call, Leg } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import { type callSchema, callSummarySchema } from './call-schemas.ts';
import { rfc3339 } from './moments.ts';

/** By which fields a search can be sorted: those of a call summary (2.9). */
export const summaryFields = callSummarySchema.keyof().options;

export type CallSummary = z.output<typeof callSummarySchema>;

/** One literal of one shape: pages of 500 rows are rendered some hundred times a second. */
export function callSummary(call: Call): CallSummary {
  const { caller, called } = call;
  return {
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
}

export function callWithLegs(call: Call): z.output<typeof callSchema> {
  return { ...callSummary(call), legs: call.legs.map((leg, index) => legResource(call, leg, index)) };
}

export function uniqueIdOf(call: Call, leg: Leg): string {
  return `${call.start + leg.offset}.${leg.sequence}`;
}

/** A transferred leg, and what follows it, stands under a call id of its own (2.10). */
export function legCallId(call: Call, leg: Leg): string {
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

/** Section 2.9: above 1, so many people answered. */
export function statusCode(call: Call): number {
  switch (call.status) {
    case 'missed':
      return -1;
    case 'voicemail':
      return 0;
    case 'answered':
      return call.answeredBy;
    case 'unknown':
      return assumptions.unknownStatusCode;
  }
}
