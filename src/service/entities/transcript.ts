import { type Entity, fields, rows } from '../answers/fields.ts';
import { callId, count, decimal, flag, id, list, text } from '../answers/values.ts';

const segmentShape = { start: decimal, end: decimal, speaker: count, text };
const kpiShape = { name: text, value: count, note: text };

/** One utterance; `start` and `end` are seconds from the beginning of the audio, with a fraction. */
export type Segment = Entity<typeof segmentShape>;

const shape = {
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

/** The transcript of one recorded leg (section 2.11). A score that is undefined was not given: it is not zero. */
export type Transcript = Entity<typeof shape, 'id'>;

export const transcript = fields(shape, { identity: ['id'], always: ['callId', 'recording', 'segments'] });
