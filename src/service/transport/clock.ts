import { setTimeout as delay } from 'node:timers/promises';

/** Time and chance, so that tests can hold them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after the milliseconds; rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

export const systemClock: Clock = {
  // It runs on evenly while the machine's clock is set: one that is put back by an hour would make each pause an hour longer.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (milliseconds, signal) => delay(milliseconds, undefined, signal && { signal }),
  random: Math.random,
};
