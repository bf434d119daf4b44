/** An exponential back-off: each wait is twice the one before. Times in milliseconds. */
export interface Backoff {
  /** Before the first retry. */
  readonly firstMs: number;
  /** The longest wait, unless the server asks for a longer one. */
  readonly maxMs: number;
  /** The share of each wait that is random: 0 (the default) is none, 1 is full jitter. */
  readonly jitter?: number;
}

/**
 * Milliseconds to wait before retry number `retry` (from 1). `askedMs` is a wait that the server asked for
 * (Retry-After): the result is never shorter, and jitter lengthens it by at most `firstMs`, so that clients don't
 * return all at once.
 */
export function backoffMs(
  { firstMs, maxMs, jitter = 0 }: Backoff,
  retry: number,
  { askedMs, random = Math.random }: { askedMs?: number | undefined; random?: () => number } = {},
): number {
  const chance = random();
  const own = Math.min(maxMs, firstMs * 2 ** (retry - 1)) * (1 - jitter + jitter * chance);
  return askedMs === undefined ? own : Math.max(own, askedMs + firstMs * jitter * chance);
}
