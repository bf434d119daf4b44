import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ErrorCode, ServiceError } from '../../src/api-client/errors.ts';
import { nextRecheck, recheckDelays } from '../../src/sync/rechecks.ts';
import { decideRetry } from '../../src/sync/retry-policy.ts';

const error = (code: ErrorCode, more: { retryAfterMs?: number; scope?: string } = {}) =>
  new ServiceError(code, 'as it says', { operation: 'calls.get', effect: 'none', ...more });
const first = { attempts: 0, misses: 0, isNew: false, isUnconfirmed: false, isDeferred: false, lateMs: 0 };
const half = () => 0.5;

describe('a failed read', () => {
  test.each(['network', 'timeout', 'server', 'unreadable', 'too_large', 'unexpected_status', 'redirect'] as const)(
    'with %s is tried again, and counted',
    (code) => {
      expect(decideRetry(error(code), first, half)).toMatchObject({ kind: 'retry', countsAsAttempt: true });
    },
  );

  test('waits longer from try to try, up to five minutes', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50].map((attempts) => {
      const outcome = decideRetry(error('server'), { ...first, attempts }, () => 1);
      return outcome.kind === 'retry' ? outcome.afterMs : 0;
    });
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).toBe(300_000);
  });

  test('is never tried before the service said', () => {
    fc.assert(
      fc.property(
        fc.nat(600_000),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.nat(9),
        (retryAfterMs, luck, attempts) => {
          const outcome = decideRetry(error('rate_limited', { retryAfterMs }), { ...first, attempts }, () => luck);
          expect(outcome.kind).toBe('retry');
          if (outcome.kind === 'retry') expect(outcome.afterMs).toBeGreaterThanOrEqual(retryAfterMs);
        },
      ),
    );
  });

  test.each([0, 1])('that is told to wait %i ms again and again waits longer from try to try', (retryAfterMs) => {
    const waits = [0, 1, 2, 3, 50].map((attempts) => {
      const outcome = decideRetry(error('rate_limited', { retryAfterMs }), { ...first, attempts }, half);
      return outcome.kind === 'retry' ? outcome.afterMs : 0;
    });
    expect(waits).toEqual([750, 2_250, 7_500, 22_500, 30_000]);
  });

  test('waits a quarter of an hour at most, and a little, whatever it is told', () => {
    const year = 365 * 86_400_000;
    expect(decideRetry(error('rate_limited', { retryAfterMs: 73 * year }), first, () => 0)).toMatchObject({
      kind: 'retry',
      afterMs: 900_000,
    });
  });

  test.each(['account_unrecognized', 'circuit_open', 'aborted'] as const)('with %s burns nothing', (code) => {
    expect(decideRetry(error(code), first, half)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
  });

  test('that does not find what no read ever settled is tried again within a second, as no miss', () => {
    const outran = decideRetry(error('not_found'), { ...first, isNew: true }, half);
    expect(outran).toEqual({ kind: 'retry', afterMs: 1_000, countsAsAttempt: true });
    const later = decideRetry(error('not_found'), { ...first, isNew: true, attempts: 1 }, half);
    expect(later).toEqual({ kind: 'retry', afterMs: 5_000, countsAsAttempt: true, isMiss: true });
  });

  const missing = (claim: Partial<typeof first>) => {
    const outcome = decideRetry(error('not_found'), { ...first, ...claim }, half);
    return outcome.kind === 'retry' ? outcome.afterMs : outcome;
  };
  const gone = { kind: 'finish', state: 'gone' };

  test('that does not find what only deliveries named is tried again within seconds, and then given up', () => {
    const waits = [0, 1, 2].map((misses) => missing({ misses, isUnconfirmed: true }));
    expect(waits).toEqual([1_000, 15_000, gone]);
  });

  test('that comes long after its delivery, behind all others, gives up at once what it does not find', () => {
    expect(missing({ isUnconfirmed: true, isDeferred: true, lateMs: 20_000 })).toEqual(gone);
    expect(missing({ isUnconfirmed: true, isDeferred: true, lateMs: 500 })).toBe(1_000);
    expect(missing({ isUnconfirmed: true, lateMs: 20_000 })).toBe(1_000);
  });
});

describe('the next look', () => {
  const ended = new Date('2026-04-21T12:00:00Z');
  const since = (seconds: number) => new Date(ended.getTime() + seconds * 1_000);

  test.each([
    [0, 60],
    [59, 1],
    [60, 60],
    [100, 20],
    [3_599, 1],
    [86_399, 1],
  ])('%i seconds after the end is %i seconds ahead', (elapsed, ahead) => {
    expect(nextRecheck(recheckDelays, ended, since(elapsed))).toBe(ahead);
  });

  test('is none when the last one is over', () => {
    expect(nextRecheck(recheckDelays, ended, since(86_400))).toBeUndefined();
    expect(nextRecheck([], ended, ended)).toBeUndefined();
  });

  test('at a call that ends in the future is no further ahead than the last look', () => {
    expect(nextRecheck(recheckDelays, since(10_000_000), ended)).toBe(86_400);
  });
});
