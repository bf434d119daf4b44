/** The events that a rule can wait for. All are detected in the mirror, none in a delivery. */
export const triggerKinds = [
  'message_received',
  'thread_idle',
  'call_missed',
  'call_ended',
  'voicemail_left',
  'transcript_ready',
  'action_required',
] as const;
export type TriggerKind = (typeof triggerKinds)[number];

/** One event, by ids alone: its facts are read from the mirror. */
export interface Trigger {
  readonly kind: TriggerKind;
  /** `conversation/message` for a text; the same for a silence, with its last message; the id of a call or transcript. */
  readonly key: string;
  /** When the text was sent, the silence became long enough, the call ended, or the transcript was mirrored. */
  readonly at: Date;
  /** Length of a silence, as the rules that wait for it give it. */
  readonly idleSeconds?: number;
  /** Names of the rules to evaluate; for a silence, those in force since before it was long enough. Default: all. */
  readonly rules?: readonly string[];
}

const tenMinutes = 600;
const oneDay = 86_400;

/**
 * Default `max_age` in seconds: a rule ignores an older trigger. Nobody waits for a reaction to a silence, so one that became
 * long enough during an outage still counts.
 */
export const defaultMaxAgeSeconds: Readonly<Record<TriggerKind, number>> = {
  message_received: tenMinutes,
  thread_idle: oneDay,
  call_missed: tenMinutes,
  call_ended: tenMinutes,
  voicemail_left: tenMinutes,
  transcript_ready: tenMinutes,
  action_required: tenMinutes,
};
