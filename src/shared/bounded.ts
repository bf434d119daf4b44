/** Removes the oldest entries of a map until `max` are left. */
export function forgetOldest(entries: Map<unknown, unknown>, max: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(oldest);
  }
}

/** Counts events by key, so that a log line or a delay can depend on how often they repeat. */
export interface BurstCounter {
  /** Counts one event. Returns its number within the current burst of its key; 1 starts a burst. */
  count(key: string): number;
}

/**
 * A burst ends after `quietMs` without an event of its key. Beyond `maxKeys`, drops the keys that were idle longest.
 */
export function createBurstCounter({ quietMs, maxKeys }: { quietMs: number; maxKeys: number }): BurstCounter {
  const bursts = new Map<string, { events: number; lastAt: number }>();
  return {
    count(key) {
      const now = performance.now();
      const burst = bursts.get(key);
      const events = burst !== undefined && now - burst.lastAt < quietMs ? burst.events + 1 : 1;
      bursts.delete(key);
      bursts.set(key, { events, lastAt: now });
      forgetOldest(bursts, maxKeys);
      return events;
    },
  };
}
