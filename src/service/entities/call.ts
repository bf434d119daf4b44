import { type Entity, fields, rows } from '../answers/fields.ts';
import { callId, count, flag, instant, text, word } from '../answers/values.ts';

const common = {
  statusCode: count,
  callerType: text,
  callerName: text,
  callerNumber: text,
  calledType: text,
  calledName: text,
  calledNumber: text,
  dialledNumber: text,
  callerIdInternal: text,
  callerIdExternal: text,
  startTime: instant,
  endTime: instant,
  durationSeconds: count,
  talkTimeSeconds: count,
};

const summaryShape = {
  id: callId,
  direction: word('inbound', 'outbound'),
  status: word('answered', 'missed', 'voicemail', 'unknown'),
  ...common,
  transferred: count,
  abandoned: flag,
  recorded: flag,
  calledBack: callId,
  repeated: count,
};

/** A row of the call search (section 2.9). */
export type CallSummary = Entity<typeof summaryShape, 'id'>;

export const callSummary = fields(summaryShape, { identity: ['id'] });

/** What a service may leave out where it is zero or false. */
export const countsAndFlags = [
  ...(['statusCode', 'durationSeconds', 'talkTimeSeconds'] as const),
  ...(['transferred', 'abandoned', 'recorded', 'repeated'] as const),
];

/** A call that has not ended says as much as one that has, but for its end; who called whom is empty text, not nothing. */
const always = [
  ...countsAndFlags,
  ...(['direction', 'status', 'startTime', 'legs'] as const),
  ...(['callerType', 'callerNumber', 'calledType', 'calledNumber', 'dialledNumber'] as const),
];

// The specification names `bridgedFromCallId` alone. The rest are a call's own names, read where a leg has them; its
// words for direction and status are open.
const legShape = {
  uniqueId: callId,
  callId,
  id: callId,
  bridgedFromCallId: callId,
  direction: text,
  status: text,
  ...common,
};

/** One leg of a call (section 2.9). Its other fields are not specified: whatever came is in `raw`. */
export type Leg = Entity<typeof legShape>;

const callShape = { ...summaryShape, legs: rows(fields(legShape, { isOpen: true })) };

/** One call with its legs (section 4.6); `legs` is undefined when the answer had none to read. */
export type Call = Entity<typeof callShape, 'id'>;

export const call = fields(callShape, { identity: ['id'], always });
