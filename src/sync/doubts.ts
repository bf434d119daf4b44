import { nextLook } from './looks.ts';

/*
 * An answer can lack what the specification always gives, for a moment or for good. What it does give is mirrored at once.
 * The rest is looked for as late artefacts are; where a service hardly ever gives it, once, at the end of their schedule.
 */

/** How much the newest answer counts for what is usual, and the share of answers that makes it so. */
const weight = 0.05;
const hardlyEver = 0.8;

/** Whether an answer lacks nothing, what others give, or what a service hardly ever gives. */
export type Lack = 'none' | 'unusual' | 'usual';

/** Weighs what answers lack against what they usually do. */
export interface Doubts {
  /** Counts an answer. */
  weigh(operation: string, lacking: readonly string[]): Lack;
  /** Seconds until what is lacking is worth another look, `since` it could first be had; undefined after the last look. */
  lookAgain(lack: Lack, since: Date): number | undefined;
}

export function createDoubts({ looks, now }: { looks: readonly number[]; now: () => Date }): Doubts {
  /** By operation and place: the share of the latest answers that lacked it. */
  const shares = new Map<string, Map<string, number>>();

  return {
    weigh(operation, lacking) {
      const known = shares.get(operation) ?? new Map<string, number>();
      shares.set(operation, known);
      const isUnusual = lacking.some((place) => (known.get(place) ?? 0) < hardlyEver);
      for (const place of new Set([...known.keys(), ...lacking])) {
        const share = known.get(place) ?? 0;
        known.set(place, share + weight * (Number(lacking.includes(place)) - share));
      }
      return lacking.length === 0 ? 'none' : isUnusual ? 'unusual' : 'usual';
    },
    lookAgain(lack, since) {
      return lack === 'none' ? undefined : nextLook(lack === 'unusual' ? looks : looks.slice(-1), since, now());
    },
  };
}

/** For a read that nobody repeats. */
export const noDoubts: Doubts = { weigh: () => 'none', lookAgain: () => undefined };
