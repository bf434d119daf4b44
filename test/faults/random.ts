import { randomInt } from 'node:crypto';
import { isCampaign } from './figures.ts';

/** Chance that can be repeated: the same seed draws the same. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  pick<T>(choices: readonly T[]): T;
}

/**
 * The seed of this run: `FAULT_SEED`, or one that is the same in each `npm test` and fresh in each `npm run faults`. A
 * test says which it used, so that its draws can be repeated.
 */
export const seed = Number(process.env.FAULT_SEED ?? (isCampaign ? randomInt(1, 1_000_000) : 1));

/** A stream of its own for each name, so that one test's draws do not move another's. */
export function createRandom(name: string): Random {
  console.log(`FAULT_SEED=${seed}`);
  let state = [...name].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 16_777_619), seed | 1) >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return { next, between, pick: (choices) => choices[between(0, choices.length - 1)] as (typeof choices)[number] };
}
