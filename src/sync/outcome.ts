import type { Claim } from '../inbox/claims.ts';
import { ServiceError } from '../service/client.ts';

/** What becomes of a target whose read failed. */
export type Outcome =
  /** Read it again later. `countsAsAttempt` is false when the service was not asked at all. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly countsAsAttempt: boolean; readonly isMiss?: boolean }
  /** The credential may not read this kind of thing: all of its kind wait. */
  | { readonly kind: 'park'; readonly missingScope: string | undefined }
  /** The answer stands until a new hint, or a look: asking again at once would not change it. */
  | { readonly kind: 'settle'; readonly state: 'gone' | 'forbidden' | 'refused' };

/** Waits after the first, second, … failed read, in milliseconds; the last one repeats. */
const backOff = [1_000, 3_000, 10_000, 30_000, 60_000, 300_000];

/** What a service asks for beyond this is taken for a mistake: its clock may be wrong, and new events wait behind it. */
const longestAsked = 900_000;
/** Below this a wait grows from try to try as any other does, whatever less the service asks for. */
const growsUpTo = 30_000;

/** Not found and not yours are the same answer, and so many spaced misses settle it. */
const lookAgainForMissing = [5_000, 60_000];
/** An event can outrun what it tells of, mostly by less than a second: that is no miss yet. */
const lookAgainForNew = 1_000;
/** What only deliveries named may not exist, or its event outran it by seconds: after these waits it is given up. */
const waitsForUnconfirmed = [lookAgainForNew, 15_000];

/** Whether a read that does not find its target is the last one that settles it. */
export function isLastMiss({ misses }: Pick<Claim, 'misses'>): boolean {
  return misses >= lookAgainForMissing.length;
}

/** Decides by what the error advises (section 7). `random` is in [0, 1) and spreads the retries of many targets. */
export function outcomeOf(
  error: unknown,
  claim: Pick<Claim, 'attempts' | 'misses' | 'isNew' | 'isUnconfirmed' | 'isBehind' | 'lateMs'>,
  random: () => number,
): Outcome {
  if (!(error instanceof ServiceError)) return retryAfter(claim.attempts, random);
  switch (error.advice) {
    case 'credential':
      // The challenge names the scope that the endpoint wants, which says nothing about what the credential lacks.
      return { kind: 'park', missingScope: undefined };
    case 'scope':
      return { kind: 'park', missingScope: error.scope };
    case 'permission':
      return { kind: 'settle', state: 'forbidden' };
    case 'refused':
      return { kind: 'settle', state: 'refused' };
    case 'not_found': {
      if (claim.isNew && claim.attempts === 0 && !claim.isUnconfirmed) {
        return { kind: 'retry', afterMs: lookAgainForNew, countsAsAttempt: true };
      }
      const afterMs = waitsForMissing(claim)[claim.misses];
      return afterMs === undefined
        ? { kind: 'settle', state: 'gone' }
        : { kind: 'retry', afterMs, countsAsAttempt: true, isMiss: true };
    }
    case 'retry':
    case 'reconcile':
      if (error.code === 'circuit_open' || error.code === 'aborted') {
        return { kind: 'retry', afterMs: spread(error.retryAfterMs ?? 1_000, random), countsAsAttempt: false };
      }
      return retryAfter(claim.attempts, random, error.retryAfterMs);
  }
}

/** One that was read behind others comes late enough for its event not to have outrun it. */
function waitsForMissing({ isUnconfirmed, isBehind, lateMs }: Parameters<typeof outcomeOf>[1]): readonly number[] {
  if (!isUnconfirmed) return lookAgainForMissing;
  const isLate = isBehind && lateMs >= Math.max(...waitsForUnconfirmed);
  return isLate ? [] : waitsForUnconfirmed;
}

function retryAfter(attempts: number, random: () => number, askedMs?: number): Outcome {
  const wait = backOff[Math.min(attempts, backOff.length - 1)] as number;
  const own = wait / 2 + (wait / 2) * random();
  const afterMs =
    askedMs === undefined ? own : Math.max(spread(Math.min(askedMs, longestAsked), random), Math.min(own, growsUpTo));
  return { kind: 'retry', afterMs, countsAsAttempt: true };
}

/** Up to a fifth later, never earlier: the wait was asked for. */
function spread(ms: number, random: () => number): number {
  return ms * (1 + random() / 5);
}
