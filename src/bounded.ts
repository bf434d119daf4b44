/** Forgets the entries of a map that were set first, beyond so many. */
export function forgetOldest(entries: Map<unknown, unknown>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}

/** Counts how often something happens, so that a log line or a delay can depend on it. */
export interface Spells {
  /** How often it has happened under this key in the present spell; 1 begins one. */
  hit(key: string): number;
}

/** A spell ends when nothing has happened under its key for `quietMs`. The keys that were quiet longest are forgotten. */
export function createSpells({ quietMs, maxKeys }: { quietMs: number; maxKeys: number }): Spells {
  const spells = new Map<string, { hits: number; lastAt: number }>();
  return {
    hit(key) {
      const now = performance.now();
      const spell = spells.get(key);
      const hits = spell !== undefined && now - spell.lastAt < quietMs ? spell.hits + 1 : 1;
      spells.delete(key);
      spells.set(key, { hits, lastAt: now });
      forgetOldest(spells, maxKeys);
      return hits;
    },
  };
}
