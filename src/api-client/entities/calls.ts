import { type Entity, fields, rows } from '../answers/fields.ts';
import { callId, count, decimal, flag, id, instant, list, text, word } from '../answers/values.ts';

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

// Only `bridgedFromCallId` is specified. The other keys are those of a call, read where a leg has them; its words for
// direction and status are not specified.
const legShape = {
  uniqueId: callId,
  callId,
  id: callId,
  bridgedFromCallId: callId,
  direction: text,
  status: text,
  ...common,
};

/** One leg of a call (section 2.9). Its other fields are not specified: see `raw`. */
export type Leg = Entity<typeof legShape>;

const callShape = { ...summaryShape, legs: rows(fields(legShape, { isOpen: true })) };

/** One call with its legs (section 4.6); `legs` is undefined when they cannot be read. */
export type Call = Entity<typeof callShape, 'id'>;

export const call = fields(callShape, { identity: ['id'] });

const recordingShape = {
  uniqueId: callId,
  callId,
  url: text,
  startTime: instant,
  durationSeconds: count,
  talkTimeSeconds: count,
  from: text,
  to: text,
};

/** A recorded leg (section 2.10). `url` is a secret: whoever holds it can play the audio. */
export type Recording = Entity<typeof recordingShape, 'uniqueId'>;

export const recording = fields(recordingShape, {
  identity: ['uniqueId'],
});

const segmentShape = { start: decimal, end: decimal, speaker: count, text };
const kpiShape = { name: text, value: count, note: text };

/** One utterance; `start` and `end` are seconds from the beginning of the audio, with a fraction. */
export type Segment = Entity<typeof segmentShape>;

const transcriptShape = {
  id,
  callId,
  recording: text,
  segments: rows(fields(segmentShape)),
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
  customKpis: rows(fields(kpiShape)),
};

/** The transcript of one recorded leg (section 2.11). An undefined score was not given; it is not zero. */
export type Transcript = Entity<typeof transcriptShape, 'id'>;

export const transcript = fields(transcriptShape, { identity: ['id'] });
