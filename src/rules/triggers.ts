/** The events that a rule can wait for. All are detected in the mirror, never in a delivery. */
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

/** How long a thread was idle: by the clock, or counted while the business is open. */
export interface Idle {
  readonly seconds: number;
  readonly isBusiness: boolean;
}

/** A key for an idle time. Equal idle times have the same key. */
export function idleKey({ seconds, isBusiness }: Idle): string {
  return `${seconds}${isBusiness ? ' business' : ''}`;
}

/** One event. Holds ids only: its facts are read from the mirror. */
export interface Trigger {
  readonly kind: TriggerKind;
  /**
   * `conversation/message` for a text, and for an idle thread with its last message; the id of a call or transcript.
   */
  readonly key: string;
  /**
   * When the text was sent, the thread became idle, the call ended, or the transcript was mirrored, plus
   * `afterSeconds`.
   */
  readonly at: Date;
  /** Seconds after the event at which rules with `after` are evaluated. */
  readonly afterSeconds?: number;
  /** `for` of the rules on an idle thread. */
  readonly idle?: Idle;
  /**
   * Names of the rules to evaluate: for an idle thread, those in force before it became idle; for a delayed trigger,
   * those that waited for it. Default: all.
   */
  readonly rules?: readonly string[];
}

/** When the event of a trigger happened, before the delay of `after`. */
export function happenedAt({ at, afterSeconds = 0 }: Pick<Trigger, 'at' | 'afterSeconds'>): Date {
  return new Date(at.getTime() - afterSeconds * 1_000);
}

/** The same trigger for rules that are evaluated so many seconds after it. */
export function delayed(trigger: Trigger, afterSeconds: number): Trigger {
  return { ...trigger, at: new Date(trigger.at.getTime() + afterSeconds * 1_000), afterSeconds };
}
