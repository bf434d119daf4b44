import { type Entity, fields } from '../answers/fields.ts';
import { callId, count, instant, text } from '../answers/values.ts';

const shape = {
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
export type Recording = Entity<typeof shape, 'uniqueId'>;

export const recording = fields(shape, {
  identity: ['uniqueId'],
  always: ['callId', 'url', 'startTime', 'durationSeconds', 'talkTimeSeconds', 'from', 'to'],
});
