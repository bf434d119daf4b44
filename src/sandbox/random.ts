/** A reproducible random source: the same seed gives the same values. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer from min to max, inclusive. */
  int(min: number, max: number): number;
  /** An integer of a range, inclusive. */
  between(range: { readonly min: number; readonly max: number }): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** An index, with a probability proportional to its weight. */
  weighted(weights: readonly number[]): number;
  /** Restarts from a seed. */
  reseed(seed: number): void;
}

/** Mulberry32: fast, and 32 bits of state are enough for generated data. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));

  return {
    next,
    int,
    between: ({ min, max }) => int(min, max),
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError('cannot pick from an empty list');
      return list[Math.floor(next() * list.length)] as T;
    },
    weighted(weights) {
      let total = 0;
      for (const weight of weights) total += weight;
      let rest = next() * total;
      const index = weights.findIndex((weight) => {
        rest -= weight;
        return rest < 0;
      });
      return index === -1 ? weights.length - 1 : index;
    },
    reseed(fresh) {
      state = fresh >>> 0;
    },
  };
}

/** A separate seed for a purpose, so that one more draw there doesn't change the values elsewhere. */
export function deriveSeed(seed: number, purpose: string): number {
  let hash = 2166136261 ^ seed;
  for (let index = 0; index < purpose.length; index++) {
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 16777619);
  }
  return hash >>> 0;
}
