import type { Rate } from '../entities/settings.ts';

/** The rate of a normalized number: the longest prefix wins. Undefined when none is active, which is a 422 (section 7). */
export function rateFor(card: readonly Rate[], number: string): Rate | undefined {
  let best: Rate | undefined;
  for (const rate of card) {
    if (number.startsWith(rate.prefix) && rate.prefix.length >= (best?.prefix.length ?? 0)) best = rate;
  }
  return best;
}

/** Micro-dollars as dollars: the nearest double, whose JSON is the exact decimal (30000 → 0.03). */
export function dollars(micros: number): number {
  return micros / 1_000_000;
}
