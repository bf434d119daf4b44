/** Pending timers, so that a reset or the end of the sandbox can cancel all of them. */
export interface Timers {
  after(ms: number, act: () => void): void;
  clear(): void;
}

export function createTimers(): Timers {
  const pending = new Set<NodeJS.Timeout>();
  return {
    after(ms, act) {
      const timer = setTimeout(() => {
        pending.delete(timer);
        act();
      }, ms);
      pending.add(timer);
    },
    clear() {
      for (const timer of pending) clearTimeout(timer);
      pending.clear();
    },
  };
}
