/** How the sandbox waits: by timers, or in stepped tests by a list that the test runs. */
export interface Beat {
  /** Calls `run` after `ms` milliseconds unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
  /** Returns `work`. A stepped test waits until it has ended. */
  busy<T>(work: Promise<T>): Promise<T>;
}

export const realBeat: Beat = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  busy: (work) => work,
};

/** Pending timers, so that a reset or the end of the sandbox can cancel all of them. */
export interface Timers extends Pick<Beat, 'busy'> {
  /** Returns a function that cancels it. */
  after(ms: number, act: () => void): () => void;
  clear(): void;
}

export function createTimers(beat: Beat): Timers {
  const pending = new Set<() => void>();
  return {
    after(ms, act) {
      const cancel = beat.after(ms, () => {
        pending.delete(cancel);
        act();
      });
      pending.add(cancel);
      return () => {
        pending.delete(cancel);
        cancel();
      };
    },
    busy: (work) => beat.busy(work),
    clear() {
      for (const cancel of pending) cancel();
      pending.clear();
    },
  };
}
