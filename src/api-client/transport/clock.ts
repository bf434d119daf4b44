import { setTimeout as delay } from 'node:timers/promises';

/** Time and randomness, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after the milliseconds; rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

export const systemClock: Clock = {
  // Monotonic: setting the machine's clock back must not lengthen pauses.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (milliseconds, signal) => delay(milliseconds, undefined, signal && { signal }),
  random: Math.random,
};
