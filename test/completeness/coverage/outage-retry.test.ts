import { expect, test } from 'vitest';
import { type ErrorCode, ServiceError } from '../../../src/api-client/errors.ts';
import { createOutageRetry } from '../../../src/completeness/coverage/backfill.ts';

const failed = (code: ErrorCode, retryAfterMs?: number) =>
  new ServiceError(code, 'it failed', { operation: 'calls.search', effect: 'none', retryAfterMs });
const never = new AbortController().signal;

/** A clock that a wait moves on, and what a service answers, one failure after the other. */
function waiting() {
  let now = 0;
  const waits: number[] = [];
  const outageRetry = createOutageRetry(
    (_, ms) => void waits.push(ms),
    () => now,
    async (ms) => {
      now += ms;
    },
  );
  const outlast = (failures: Iterable<ServiceError>) => {
    const left = failures[Symbol.iterator]();
    const ask = async () => {
      const { value } = left.next();
      if (value) throw value;
      return 'an answer';
    };
    return outageRetry(ask, never);
  };
  return { outlast, waits };
}

function* forever(code: ErrorCode) {
  for (;;) yield failed(code);
}

test.each(['network', 'unreadable', 'redirect', 'unexpected_status'] as const)(
  'a service of which nothing ever came is not waited for after %s: its address may be wrong',
  async (code) => {
    const { outlast, waits } = waiting();
    await expect(outlast([failed(code)])).rejects.toMatchObject({ code });
    await outlast([]);
    expect(await outlast([failed(code)])).toBe('an answer');
    expect(waits).toEqual([2_000]);
  },
);

test.each([
  'unauthenticated',
  'insufficient_scope',
  'permission_denied',
  'invalid_request',
  'account_unrecognized',
] as const)('what a wait does not cure is told at once: %s', async (code) => {
  const { outlast, waits } = waiting();
  await outlast([]);
  await expect(outlast([failed(code)])).rejects.toMatchObject({ code });
  expect(waits).toEqual([]);
});

test('waits are as long as the service asks, and grow where it does not', async () => {
  const { outlast, waits } = waiting();
  await outlast([failed('server'), failed('rate_limited', 60_000), failed('circuit_open', 1_000)]);
  expect(waits).toEqual([2_000, 60_000, 8_000]);
});

test('half an hour without an answer is enough', async () => {
  const { outlast, waits } = waiting();
  await expect(outlast(forever('server'))).rejects.toMatchObject({ code: 'server' });
  expect(waits.slice(0, 7)).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000]);
  const together = waits.reduce((a, b) => a + b);
  expect([together > 1_600_000, together <= 1_800_000]).toEqual([true, true]);
});
