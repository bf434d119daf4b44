import { forgetOldest } from '../../bounded.ts';
import { countsAndFlags } from '../../service/entities/call.ts';
import { nextLook } from './schedule.ts';

/*
 * An answer can lack what the specification always gives, for a moment or for good. What it does give is mirrored at once.
 * The rest is looked for as late artefacts are; where a service hardly ever gives it, or has not given it when it was
 * looked for, once, at the end of their schedule. Counts and flags are what many services leave out where they are zero
 * or false: a few answers without them say enough, and one look.
 */

/** How much the newest answer counts for what is usual. */
const weight = 0.05;
/** The share of answers without it that makes a lack usual. */
const hardlyEver = 0.8;
const nowAndThen = 0.2;
/** Rows whose next look is remembered; beyond them the oldest are forgotten, and looked for as if they were new. */
const mostRows = 10_000;
/** Timers fire a little early. */
const earlyMs = 1_000;

/** Whether an answer lacks nothing, what others give, or what a service hardly ever gives. */
export type Lack = 'none' | 'unusual' | 'usual';

/** What one answer lacks of something that is read by its key, and could first be had at `since`. */
export interface LackingRow {
  readonly operation: string;
  readonly key: string;
  readonly lacking: readonly string[];
  readonly since: Date;
}

/** Weighs what answers lack against what they usually do. */
export interface Doubts {
  /** Counts an answer. */
  weigh(operation: string, lacking: readonly string[]): Lack;
  /** Seconds until what is lacking is worth another look, `since` it could first be had; undefined after the last look. */
  lookAgain(lack: Lack, since: Date): number | undefined;
  /** Both, for a row that is known again: what it lacked at its last look too is hardly worth the next. */
  lookAgainAt(row: LackingRow): number | undefined;
}

export function createDoubts({ looks, now }: { looks: readonly number[]; now: () => Date }): Doubts {
  /** By operation and place: the share of the latest answers that lacked it. */
  const shares = new Map<string, Map<string, number>>();
  /** By operation and key: what was lacking, and when another read counts as a look. */
  const awaited = new Map<string, { readonly lacking: readonly string[]; readonly due: number }>();

  function weigh(operation: string, lacking: readonly string[]): Lack {
    const known = shares.get(operation) ?? new Map<string, number>();
    shares.set(operation, known);
    const isUnusual = lacking.some((place) => (known.get(place) ?? 0) < (isOmittable(place) ? nowAndThen : hardlyEver));
    for (const place of new Set([...known.keys(), ...lacking])) {
      const share = known.get(place) ?? 0;
      known.set(place, share + weight * (Number(lacking.includes(place)) - share));
    }
    return lacking.length === 0 ? 'none' : isUnusual ? 'unusual' : 'usual';
  }

  function lookAgain(lack: Lack, since: Date): number | undefined {
    return lack === 'none' ? undefined : nextLook(lack === 'unusual' ? looks : looks.slice(-1), since, now());
  }

  return {
    weigh,
    lookAgain,
    lookAgainAt({ operation, key, lacking, since }) {
      const lack = weigh(operation, lacking);
      const row = `${operation} ${key}`;
      const before = awaited.get(row);
      awaited.delete(row);
      const isLook = before !== undefined && before.due <= now().getTime() + earlyMs;
      const isAgain = isLook && lacking.every((place) => before.lacking.includes(place));
      if (isAgain && lacking.every(isOmittable)) return undefined;
      const seconds = lookAgain(isAgain && lack === 'unusual' ? 'usual' : lack, since);
      if (seconds === undefined) return undefined;
      const due = now().getTime() + (nextLook(looks, since, now()) ?? 0) * 1_000;
      awaited.set(row, { lacking, due });
      forgetOldest(awaited, mostRows);
      return seconds;
    },
  };
}

const omittable: ReadonlySet<string> = new Set(countsAndFlags);

function isOmittable(place: string): boolean {
  return omittable.has(place.slice(place.lastIndexOf('.') + 1));
}

/** For a read that nobody repeats. */
export const noDoubts: Doubts = { weigh: () => 'none', lookAgain: () => undefined, lookAgainAt: () => undefined };
