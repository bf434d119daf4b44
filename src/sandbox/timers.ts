/** Everything that is to happen later, so that one call can call it off. */
export interface Timers {
  after(ms: number, act: () => void): void;
  clear(): void;
}

export function createTimers(): Timers {
  const waiting = new Set<NodeJS.Timeout>();
  return {
    after(ms, act) {
      const timer = setTimeout(() => {
        waiting.delete(timer);
        act();
      }, ms);
      waiting.add(timer);
    },
    clear() {
      for (const timer of waiting) clearTimeout(timer);
      waiting.clear();
    },
  };
}
