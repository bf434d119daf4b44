import type { Read } from '../answers/envelope.ts';
import {
  entity,
  fields,
  openFields,
  optional,
  requiredObject,
  requiredRows,
  rows,
  type ValueOf,
} from '../answers/fields.ts';
import { callId, count, decimal, flag, id, instant, integer, list, text, word } from '../answers/values.ts';

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

const summaryFields = {
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

export const callSummary = entity('id', summaryFields);

/** A row of the call search (section 2.9). */
export type CallSummary = ValueOf<typeof callSummary>;

/** A page of calls with the values that the service applied, where it reported them. */
export interface CallPage {
  /** Across all pages. */
  total?: number | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  calls: readonly CallSummary[];
}

export const callPage: Read<CallPage> = (data, report) => {
  const object = requiredObject(data, 'data');
  return {
    total: optional(object, 'total', integer, report),
    limit: optional(object, 'limit', integer, report),
    offset: optional(object, 'offset', integer, report),
    calls: requiredRows(object.calls, callSummary, report, 'calls'),
  };
};

// Only `bridgedFromCallId` is specified. The other keys are those of a call, if a leg has them. Words for direction and
// status aren't specified.
const leg = openFields({
  uniqueId: callId,
  callId,
  id: callId,
  bridgedFromCallId: callId,
  direction: text,
  status: text,
  ...common,
});

/** One leg of a call (section 2.9). Its other fields aren't specified: see `raw`. */
export type Leg = ValueOf<typeof leg>;

export const call = entity('id', { ...summaryFields, legs: rows(leg) });

/** One call with its legs (section 4.6); `legs` is undefined when they can't be read. */
export type Call = ValueOf<typeof call>;

export const recording = entity('uniqueId', {
  uniqueId: callId,
  callId,
  url: text,
  startTime: instant,
  durationSeconds: count,
  talkTimeSeconds: count,
  from: text,
  to: text,
});

/** A recorded leg (section 2.10). `url` is a secret: whoever holds it can play the audio. */
export type Recording = ValueOf<typeof recording>;

const segment = fields({ start: decimal, end: decimal, speaker: count, text });

/** One utterance; `start` and `end` are seconds from the beginning of the audio, with a fraction. */
export type Segment = ValueOf<typeof segment>;

export const transcript = entity('id', {
  id,
  callId,
  recording: text,
  segments: rows(segment),
  shortSummary: text,
  bulletPoints: list(text),
  callPurpose: text,
  callSentiment: text,
  customerSatisfactionScore: count,
  customerSatisfactionScoreNote: text,
  agentPerformanceScore: count,
  agentPerformanceScoreNote: text,
  actionRequired: flag,
  actionRequiredNote: text,
  urgentActionRequired: flag,
  urgentActionRequiredNote: text,
  agentName: text,
  agentSpeaker: count,
  customKpis: rows(fields({ name: text, value: count, note: text })),
});

/** The transcript of one recorded leg (section 2.11). An undefined score wasn't given: it doesn't mean zero. */
export type Transcript = ValueOf<typeof transcript>;
