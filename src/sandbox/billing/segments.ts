import { gsm7Cost } from './alphabet.ts';

export interface SegmentCount {
  encoding: 'gsm7' | 'ucs2';
  /** GSM-7 characters with extension characters twice, or UTF-16 code units. */
  units: number;
  /** What an sms is charged by; `billing.units` in the answer to a send. */
  segments: number;
}

/** Units that fit into a message alone, and into each segment of one that is split. */
const budgets = {
  gsm7: { single: 160, split: 153 },
  ucs2: { single: 70, split: 67 },
} as const;

/**
 * Counts the segments of an sms (2.4). One character outside GSM-7 moves all to the 70/67 budget, where a character
 * costs its UTF-16 code units: an emoji 2, `€` and `[` only 1. Nothing is trimmed or normalized first.
 *
 * Empty text has no segments: there is nothing to send or to charge.
 */
export function countSegments(text: string): SegmentCount {
  const characters = [...text];
  const septets = characters.map(gsm7Cost).filter((cost) => cost !== undefined);
  const isGsm7 = septets.length === characters.length;
  const costs = isGsm7 ? septets : characters.map((character) => character.length);
  const encoding = isGsm7 ? 'gsm7' : 'ucs2';
  const units = costs.reduce((sum, cost) => sum + cost, 0);
  const { single, split } = budgets[encoding];
  if (units <= single) return { encoding, units, segments: units === 0 ? 0 : 1 };
  return { encoding, units, segments: Math.ceil(units / split) };
}
