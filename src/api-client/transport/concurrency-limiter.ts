import { setTimeout as delay } from 'node:timers/promises';
import { type Backoff, backoffMs } from '../../shared/backoff.ts';
import { ServiceError } from '../errors.ts';

/** Time and randomness, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after the milliseconds; rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

export const systemClock: Clock = {
  // Monotonic: setting the machine's clock back must not lengthen pauses.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (milliseconds, signal) => delay(milliseconds, undefined, signal && { signal }),
  random: Math.random,
};

/** Permission for one request in flight. The caller must call exactly one method when the request ends. */
export interface Slot {
  /** The service accepted the request, whatever the answer. */
  answered(): void;
  /**
   * The service refused the request because of load (429, 503). `isAlone`: no other request to the host was in flight,
   * so concurrency was not the cause.
   */
  refused(error: ServiceError): { isAlone: boolean };
  /** The request ended in a way that says nothing about load. */
  released(): void;
}

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

export interface LimiterPolicy {
  /** Pause of an operation after its only request was refused. A longer Retry-After is left to the caller. */
  pause: Backoff;
  /** Consecutive 429 refusals of a single request that suspend an operation. */
  refusals: number;
  /** Length of a suspension, during which calls fail immediately instead of waiting. */
  suspension: Backoff;
  /** Milliseconds: the longest Retry-After that a suspension honours. */
  maxAskedMs: number;
}

// unlimited ──(refused beside others)──▶ as many as were in flight beside it ──(rounds of answers while others wait)──▶ one more
//     any   ──(refused alone)──▶ paused ──(429 alone, policy.refusals in a row)──▶ suspended ──▶ one at a time

/** Rounds of answers before the limit rises by one: doubled after a refused raise, halved after an accepted one. */
const maxRounds = 16;

/** Two operations refused within this many milliseconds are taken to share a limit of the service. */
const sharedWithinMs = 2_000;

/** A limit of requests in flight, first come first served; unlimited until lowered. */
class Limit {
  #max = Number.POSITIVE_INFINITY;
  inFlight = 0;
  #answers = 0;
  #rounds = 1;
  #isRaised = false;
  readonly #waiting = new Set<() => void>();

  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.inFlight < this.#max) {
      this.inFlight += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      this.#waiting.delete(start);
      reject(signal.reason);
    };
    const start = () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.add(start);
    await promise;
  }

  release(): void {
    this.inFlight -= 1;
    for (const start of this.#waiting) {
      if (this.inFlight >= this.#max) return;
      this.#waiting.delete(start);
      this.inFlight += 1;
      start();
    }
  }

  /** One request in flight was refused. Returns false when it was the only one: the limit cannot be the cause. */
  lower(): boolean {
    if (this.inFlight === 1) return false;
    this.#max = Math.min(this.#max, this.inFlight - 1);
    this.#answers = 0;
    if (this.#isRaised) this.#rounds = Math.min(maxRounds, this.#rounds * 2);
    this.#isRaised = false;
    return true;
  }

  lowerToOne(): void {
    this.#max = 1;
    this.#answers = 0;
  }

  /** One of the requests in flight was accepted. */
  raise(): void {
    this.#answers = this.#waiting.size > 0 ? this.#answers + 1 : 0;
    if (this.#answers < this.#max * this.#rounds) return;
    if (this.#isRaised) this.#rounds = Math.max(1, this.#rounds / 2);
    this.#max += 1;
    this.#answers = 0;
    this.#isRaised = true;
  }
}

interface Operation {
  readonly limit: Limit;
  pausedUntil: number;
  refusalsInARow: number;
  /** Refusals with 429 in a row, which count towards a suspension. */
  throttledInARow: number;
  isSuspended: boolean;
}

/**
 * Limits the requests in flight adaptively: per operation, and overall where operations share a limit.
 *
 * A service with a concurrency limit refuses the requests above it, so each refusal shows the limit. A request refused
 * beside others of its operation lowers only the limit of that operation: a back-fill must not slow today's texts. One
 * refused alone, shortly after another operation, lowers the shared limit. Otherwise the rate was too high, and the
 * operation pauses. `isHostOpen` skips pauses while the circuit is open, when every call fails anyway.
 */
export function createConcurrencyLimiter(
  policy: LimiterPolicy,
  clock: Clock,
  isHostOpen: () => boolean,
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void },
) {
  const operations = new Map<string, Operation>();
  const shared = new Limit();
  let lastRefusal = { operation: '', at: Number.NEGATIVE_INFINITY };

  function stateOf(operation: string): Operation {
    const state = operations.get(operation) ?? {
      ...{ limit: new Limit(), pausedUntil: 0, isSuspended: false },
      ...{ refusalsInARow: 0, throttledInARow: 0 },
    };
    operations.set(operation, state);
    return state;
  }

  function pause(operation: string, state: Operation, { code, retryAfterMs }: ServiceError): void {
    state.refusalsInARow += 1;
    state.throttledInARow = code === 'rate_limited' ? state.throttledInARow + 1 : 0;
    const { random } = clock;
    if (state.throttledInARow < policy.refusals) {
      const askedMs = retryAfterMs === undefined || retryAfterMs > policy.pause.maxMs ? undefined : retryAfterMs;
      state.pausedUntil = clock.now() + backoffMs(policy.pause, state.refusalsInARow, { askedMs, random });
      return;
    }
    const askedMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, policy.maxAskedMs);
    const ms = backoffMs(policy.suspension, state.throttledInARow - policy.refusals + 1, { askedMs, random });
    state.pausedUntil = clock.now() + ms;
    state.isSuspended = true;
    state.limit.lowerToOne();
    log.warn({ operation, retryAfterMs: ms }, 'The service throttles this operation: its calls are suspended');
  }

  async function waitForPause(operation: string, state: Operation, signal: AbortSignal, skips: boolean): Promise<void> {
    for (;;) {
      const ms = state.pausedUntil - clock.now();
      if (ms <= 0 || isHostOpen()) return;
      if (state.isSuspended) {
        const details = { operation, effect: 'none', retryAfterMs: ms } as const;
        throw new ServiceError('circuit_open', 'the service throttles this operation, so it is suspended', details);
      }
      if (skips) return;
      await clock.sleep(ms, signal);
    }
  }

  return {
    /** Whether each operation that was used is paused or suspended. */
    throttled: (): ReadonlyMap<string, boolean> =>
      new Map([...operations].map(([name, { pausedUntil }]) => [name, pausedUntil > clock.now()])),
    /**
     * Waits for a slot, in order of arrival, and for the end of the operation's pause unless it `skipsPauses` (a send has
     * its own waits and deadline). Throws `circuit_open` while the operation is suspended, and the signal's reason on
     * abort.
     */
    async acquire(operation: string, signal: AbortSignal, skipsPauses: boolean): Promise<Slot> {
      const state = stateOf(operation);
      await state.limit.acquire(signal);
      try {
        await waitForPause(operation, state, signal, skipsPauses);
        await shared.acquire(signal);
      } catch (error) {
        state.limit.release();
        throw error;
      }
      const released = () => {
        state.limit.release();
        shared.release();
      };
      return {
        answered() {
          if (state.isSuspended) log.info({ operation }, 'The service accepts calls of this operation again');
          Object.assign(state, { refusalsInARow: 0, throttledInARow: 0, isSuspended: false });
          state.limit.raise();
          shared.raise();
          released();
        },
        refused(error) {
          const now = clock.now();
          const isShared = lastRefusal.operation !== operation && now - lastRefusal.at < sharedWithinMs;
          lastRefusal = { operation, at: now };
          const isAlone = shared.inFlight === 1;
          if (!state.limit.lower() && !(isShared && shared.lower())) pause(operation, state, error);
          released();
          return { isAlone };
        },
        released,
      };
    },
  };
}
