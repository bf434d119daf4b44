import { z } from 'zod';
import { createRandom, deriveSeed, type Random } from '../random.ts';

export const share = z.number().min(0).max(1);
/** Up to the longest that a timer can wait. */
export const milliseconds = z.int().min(0).max(2_147_483_647);

/** How often a fault strikes, whatever it is. */
export const lotFields = {
  rate: share.default(1).describe('The share that is struck of all that could be.'),
  times: z.int().min(1).optional().describe('How often it strikes at most; then it is over.'),
};

interface Chances {
  kind: string;
  rate: number;
  times?: number | undefined;
}

/** A fault that strikes now, and the chance that decides its details. */
export interface Struck<Fault> {
  fault: Fault;
  random: Random;
}

/** Faults that are in force, each with chance of its own: what one strikes does not depend on the others. */
export interface Lots<Fault> {
  /** Those that strike this time, in their order. */
  draw(fits: (fault: Fault) => boolean): Struck<Fault>[];
}

export function createLots<Fault extends Chances>(faults: readonly Fault[], seed: number): Lots<Fault> {
  const lots = faults.map((fault, place) => ({
    fault,
    random: createRandom(deriveSeed(seed, `${place} ${fault.kind}`)),
    left: fault.times ?? Number.POSITIVE_INFINITY,
  }));
  return {
    draw: (fits) =>
      lots.filter((lot) => {
        if (lot.left === 0 || !fits(lot.fault) || !lot.random.chance(lot.fault.rate)) return false;
        lot.left -= 1;
        return true;
      }),
  };
}

/** How the history names what struck; undefined for nothing. */
export function namesOf(struck: readonly Struck<{ kind: string }>[]): string | undefined {
  return struck.length === 0 ? undefined : struck.map(({ fault }) => fault.kind).join(', ');
}
