import type { ServiceError } from '../errors.ts';

/** How an operation that may be repeated is repeated in place. Targets are tried again from the database anyway. */
export interface RetryPolicy {
  /** Tries in all, the first included. Default 3. */
  tries: number;
  /** Milliseconds: the first wait is drawn from 0 to this, each next one from twice as much. Default 100. */
  baseMs: number;
  /** Milliseconds: the most that a drawn wait can be. Default 2,000. */
  capMs: number;
  /** Milliseconds: a longer `Retry-After` is left to the caller. Default 5,000. */
  retryAfterCapMs: number;
  /** Milliseconds after the first try begins in which another may begin. Default 15,000. */
  withinMs: number;
}

export const defaultRetry: RetryPolicy = {
  tries: 3,
  baseMs: 100,
  capMs: 2_000,
  retryAfterCapMs: 5_000,
  withinMs: 15_000,
};

const passing = new Set(['network', 'timeout', 'server', 'rate_limited']);

/**
 * Milliseconds to wait after the failed try number `attempt` (from 1), with full jitter; `undefined` when it should
 * not be repeated in place. A `Retry-After` is waited out, plus a little jitter so that clients do not return at once.
 */
export function waitBeforeRetry(
  error: ServiceError,
  attempt: number,
  policy: RetryPolicy,
  random: () => number,
): number | undefined {
  if (!passing.has(error.code) || attempt >= policy.tries) return undefined;
  if (error.retryAfterMs !== undefined) {
    return error.retryAfterMs > policy.retryAfterCapMs ? undefined : error.retryAfterMs + random() * policy.baseMs;
  }
  return random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
}

/**
 * Milliseconds that a `Retry-After` asks for, in seconds or as a date. A date is measured against the answer's own
 * `Date`, so that a wrong clock on either side does not matter; `undefined` when there is nothing to understand.
 */
export function retryAfterMs(header: string | undefined, date: string | undefined, now: number): number | undefined {
  const asked = header?.trim();
  if (asked === undefined || asked === '') return undefined;
  if (/^\d{1,9}(\.\d{1,3})?$/.test(asked)) return Math.ceil(Number(asked) * 1000);
  const until = /^[A-Z][a-z]+,? /.test(asked) ? Date.parse(asked) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  const from = date === undefined ? Number.NaN : Date.parse(date);
  return Math.max(0, until - (Number.isNaN(from) ? now : from));
}
