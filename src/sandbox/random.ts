/** A reproducible source of chance: the same seed always tells the same story. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer between both ends, inclusive. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Picks an index in proportion to its weight. */
  weighted(weights: readonly number[]): number;
  /** Starts over from a seed. */
  reseed(seed: number): void;
}

/** Mulberry32: 32 bits of state are plenty for invented data and cost nanoseconds. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  return {
    next,
    int: (min, max) => min + Math.floor(next() * (max - min + 1)),
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

/** A seed of its own for each purpose, so that one more draw in one place does not change all others. */
export function deriveSeed(seed: number, purpose: string): number {
  let hash = 2166136261 ^ seed;
  for (let index = 0; index < purpose.length; index++) {
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 16777619);
  }
  return hash >>> 0;
}
