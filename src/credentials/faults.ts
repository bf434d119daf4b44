import { ServiceError } from '../service/errors.ts';
import type { WrongEncryptionKey } from './sealer.ts';

/** The command that cures what only a person can. */
const cure = 'log in with `trunkline auth login`';

/** Nobody is logged in, or not any more: streams park with this sentence until somebody logs in. */
export function loginNeeded(why: string, cause?: unknown): ServiceError {
  return new ServiceError('unauthenticated', `${why}: ${cure}`, { operation: 'credential', effect: 'none', cause });
}

/** What is stored was sealed with another key: nothing can be done before the right one is set, or somebody logs in. */
export function keyNeeded(cause: WrongEncryptionKey): ServiceError {
  return new ServiceError('unauthenticated', cause.message, { operation: 'credential', effect: 'none', cause });
}

/** There is no usable token at this moment, and waiting is all that is needed. */
export function notNow(why: string, retryAfterMs: number, cause?: unknown): ServiceError {
  const details = { operation: 'credential', advice: 'retry', effect: 'none', retryAfterMs, cause } as const;
  return new ServiceError('unauthenticated', why, details);
}

/** What one refresh means for the pair that it was made with. */
export type Judgement =
  /** The refresh token is as good as before. */
  | { readonly kind: 'later'; readonly atLeastMs: number }
  /** The refresh token is used up, or may be. */
  | { readonly kind: 'lost'; readonly why: string };

/**
 * Judges a failed refresh. Refresh tokens rotate (5.3), so one whose fate is not known is not shown again. A 500 or 503
 * is an answer, after which nothing of the request is under way; whoever asks once more is told if the token was used.
 * What fails before the token is `out` says nothing about it.
 */
export function judge(error: unknown, isOut: boolean): Judgement {
  if (!isOut) return { kind: 'later', atLeastMs: error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0 };
  if (!(error instanceof ServiceError)) return { kind: 'lost', why: 'the answer to the refresh is lost' };
  const { code, effect, status, retryAfterMs: atLeastMs = 0 } = error;
  if (effect === 'none') {
    const isRefused = code === 'unauthenticated' || code === 'insufficient_scope';
    return isRefused
      ? { kind: 'lost', why: 'the service does not take the refresh token any more' }
      : { kind: 'later', atLeastMs };
  }
  if (status === 500 || status === 503) return { kind: 'later', atLeastMs: Math.max(atLeastMs, 15_000) };
  return { kind: 'lost', why: 'the answer to the refresh is lost' };
}
