import { ServiceError } from '../api-client/client.ts';
import type { Claim } from '../inbox/claims.ts';

/** What follows a failed read. */
export type RetryDecision =
  /** Read the target again later. `countsAsAttempt` is false when no request reached the service. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly countsAsAttempt: boolean; readonly isMiss?: boolean }
  /** The API key may not read this kind of target: all targets of the kind wait. */
  | { readonly kind: 'park'; readonly missingScope: string | undefined }
  /** The answer is final until a new reference or a recheck: the same request would get the same answer. */
  | { readonly kind: 'finish'; readonly state: 'gone' | 'forbidden' | 'refused' };

/** Milliseconds before each retry; the last wait repeats. */
const waits = [1_000, 3_000, 10_000, 30_000, 60_000, 300_000];

/** A longer `Retry-After` is capped: the service's clock may be wrong, and new events wait behind it. */
const maxAskedMs = 900_000;
/** The longest wait of our own that replaces a shorter `Retry-After`. */
const maxOwnMs = 30_000;

/**
 * Milliseconds between the reads of a missing target. 404 also means "not yours" (section 7): one doesn't prove a
 * deletion.
 */
const missWaits = [5_000, 60_000];
/**
 * The API can lag behind its events, mostly by less than a second: the first 404 of a new target doesn't count as a
 * miss.
 */
const newTargetWaitMs = 1_000;
/** Milliseconds for a target that only deliveries name: it may be forged, or not available yet. */
const unconfirmedWaits = [newTargetWaitMs, 15_000];

/** Whether one more miss ends its reads. */
export function isLastMiss({ misses }: Pick<Claim, 'misses'>): boolean {
  return misses >= missWaits.length;
}

/** Decides by the advice of the error (section 7). `random`, in [0, 1), spreads the retries of many targets. */
export function decideRetry(
  error: unknown,
  claim: Pick<Claim, 'attempts' | 'misses' | 'isNew' | 'isUnconfirmed' | 'isDeferred' | 'lateMs'>,
  random: () => number,
): RetryDecision {
  if (!(error instanceof ServiceError)) return retryAfter(claim.attempts, random);
  switch (error.advice) {
    case 'credential':
      // WWW-Authenticate names the scope that the endpoint wants, not what the key lacks.
      return { kind: 'park', missingScope: undefined };
    case 'scope':
      return { kind: 'park', missingScope: error.scope };
    case 'permission':
      return { kind: 'finish', state: 'forbidden' };
    case 'refused':
      return { kind: 'finish', state: 'refused' };
    case 'not_found': {
      if (claim.isNew && claim.attempts === 0 && !claim.isUnconfirmed) {
        return { kind: 'retry', afterMs: newTargetWaitMs, countsAsAttempt: true };
      }
      const afterMs = missWaitsOf(claim)[claim.misses];
      return afterMs === undefined
        ? { kind: 'finish', state: 'gone' }
        : { kind: 'retry', afterMs, countsAsAttempt: true, isMiss: true };
    }
    case 'retry':
    case 'reconcile':
      if (error.code === 'circuit_open' || error.code === 'account_unrecognized' || error.code === 'aborted') {
        return { kind: 'retry', afterMs: spread(error.retryAfterMs ?? 1_000, random), countsAsAttempt: false };
      }
      return retryAfter(claim.attempts, random, error.retryAfterMs);
  }
}

/** A deferred target is read so late that the API no longer lags behind its event. */
function missWaitsOf({ isUnconfirmed, isDeferred, lateMs }: Parameters<typeof decideRetry>[1]): readonly number[] {
  if (!isUnconfirmed) return missWaits;
  const isLate = isDeferred && lateMs >= Math.max(...unconfirmedWaits);
  return isLate ? [] : unconfirmedWaits;
}

function retryAfter(attempts: number, random: () => number, askedMs?: number): RetryDecision {
  const wait = waits[Math.min(attempts, waits.length - 1)] as number;
  const own = wait / 2 + (wait / 2) * random();
  const afterMs =
    askedMs === undefined ? own : Math.max(spread(Math.min(askedMs, maxAskedMs), random), Math.min(own, maxOwnMs));
  return { kind: 'retry', afterMs, countsAsAttempt: true };
}

/** Waits up to a fifth longer, but never shorter: the service asked for the wait. */
function spread(ms: number, random: () => number): number {
  return ms * (1 + random() / 5);
}
