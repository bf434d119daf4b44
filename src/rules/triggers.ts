/** What a rule can wait for. Everything is seen in the mirror, never in a delivery. */
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

/** One thing that happened. Ids alone: what rules know of it is read from the mirror. */
export interface Trigger {
  readonly kind: TriggerKind;
  /**
   * `conversation/message` for a text; the same for a silence, which begins with its last message; a call's id; a
   * transcript's id.
   */
  readonly key: string;
  /** When it happened: the text was sent, the silence became long enough, the call ended, the transcript was mirrored. */
  readonly at: Date;
  /** Of a silence: for how long, as the rules that wait for it say. */
  readonly idleSeconds?: number;
  /** Names of the rules that it is for: of a silence, those in force since before it was long enough. Without it, all. */
  readonly rules?: readonly string[];
}

const minuteSeconds = 60;
const daySeconds = 86_400;

/**
 * A trigger older than this, in seconds, makes no rule act, unless the rule's `limits` say otherwise. A silence is no
 * event that somebody waits on, so that one which fell into an outage still counts.
 */
export const usualMaxAgeSeconds: Readonly<Record<TriggerKind, number>> = {
  message_received: 10 * minuteSeconds,
  thread_idle: daySeconds,
  call_missed: 10 * minuteSeconds,
  call_ended: 10 * minuteSeconds,
  voicemail_left: 10 * minuteSeconds,
  transcript_ready: 10 * minuteSeconds,
  action_required: 10 * minuteSeconds,
};
