import { setTimeout as sleep } from 'node:timers/promises';

/** How loops and hints wait: by timers, or in stepped tests by a list that the test runs. */
export interface Beat {
  /** Milliseconds, from any start. */
  now(): number;
  /**
   * Calls `run` after `ms` milliseconds, unless the returned function is called. `loop` names the next round of a loop.
   */
  after(ms: number, run: () => void, loop?: string): () => void;
  /** Milliseconds that a row in Postgres waits for `ms` milliseconds: the same, or less in hurried tests. */
  ms(ms: number): number;
  /** Pauses only to spare others. Never rejects. */
  rest(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns `work`. A stepped test waits until it has ended. */
  busy<T>(work: Promise<T>): Promise<T>;
}

export const timers: Beat = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  ms: (ms) => ms,
  rest: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
  busy: (work) => work,
};

export let beat: Beat = { ...timers };

/** For tests. Without an argument, back to timers. */
export function useBeat(other: Beat = timers): void {
  beat = other;
}
