import { forgetOldest } from '../shared/bounded.ts';

/** A burst ends after a minute without an event of its key. */
const quietMs = 60_000;
/** Beyond them, those that were idle longest are forgotten. */
const maxKeys = 100;

/**
 * Counts events by key, so that a log line or a delay can depend on how often they repeat. The result counts one event,
 * and returns its number within the current burst of its key; 1 starts a burst.
 */
export function createBurstCounter(): (key: string) => number {
  const bursts = new Map<string, { events: number; lastAt: number }>();
  return (key) => {
    const now = performance.now();
    const burst = bursts.get(key);
    const events = burst !== undefined && now - burst.lastAt < quietMs ? burst.events + 1 : 1;
    bursts.delete(key);
    bursts.set(key, { events, lastAt: now });
    forgetOldest(bursts, maxKeys);
    return events;
  };
}
