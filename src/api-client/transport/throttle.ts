import pLimit, { type LimitFunction } from 'p-limit';
import { backoffMs } from '../../shared/backoff.ts';
import { abortedError, ServiceError, untilAborted } from '../errors.ts';
import type { Clock } from './clock.ts';

/*
 * What a request passes: a slot of its operation ──▶ the operation's pause ──▶ the circuit breaker of the host
 *
 *   closed ──(failures in a row)──▶ open ──(its time is over)──▶ one probe ──(the service answers)──▶ closed
 *                                    └──◀──(it fails: twice the time)──┘
 */

/** When failures in a row suspend all calls to a host. Times in milliseconds. */
export const defaultCircuit = {
  /** Failures in a row that open the circuit. */
  failures: 8,
  /** How long it first stays open; doubled after each failed probe. */
  openMs: 5_000,
  /** The longest opening, and the longest honoured Retry-After: a wrong header must not stop the mirror for days. */
  maxOpenMs: 60_000,
};

export type CircuitPolicy = typeof defaultCircuit;

type ThrottlePolicy = CircuitPolicy & { readonly perOperation: number; readonly retryAfterCapMs: number };

/** Pauses of an operation after 429s without Retry-After. */
const pauses = { firstMs: 100, maxMs: 10_000, jitter: 1 };
/** Without any success for so long, the host counts as failing even if the circuit is closed. */
const outageMs = 20_000;
/** Failures closer together may be the tries of one call, which don't prove an outage. */
const apartMs = 5_000;
/** Any other answer, also a refusal, shows that the host works. */
const hostFailures = new Set(['network', 'timeout', 'server', 'unreadable']);

/** While `open`, calls but one probe fail immediately, for another `retryAfterMs`. */
interface CircuitState {
  readonly state: 'closed' | 'open';
  readonly retryAfterMs?: number;
}

interface OperationState {
  readonly limit: LimitFunction;
  pausedUntil: number;
  /** Pauses in a row. Requests that were in flight together make one. */
  pauseCount: number;
  answeredAt: number;
}

interface Log {
  warn(fields: object, message: string): void;
}

export type Throttle = ReturnType<typeof createThrottle>;

export function createThrottle(policy: ThrottlePolicy, { now, sleep, random }: Clock, log: Log) {
  const operations = new Map<string, OperationState>();
  const circuit = { isOpen: false, isProbed: false, until: 0, openings: 0, failures: 0 };
  /** The first and the latest failure since the last success. */
  let failing: { readonly from: number; readonly to: number } | undefined;
  /** The operations that failed since the last success. */
  const failed = new Set<string>();

  function stateOf(operation: string): OperationState {
    const known = operations.get(operation) ?? {
      limit: pLimit(policy.perOperation),
      pausedUntil: 0,
      pauseCount: 0,
      answeredAt: Number.NEGATIVE_INFINITY,
    };
    operations.set(operation, known);
    return known;
  }

  /** Milliseconds until a call is let through. While a probe is in flight, about as long as the circuit stays open. */
  function circuitWaitMs(): number {
    if (!circuit.isOpen) return 0;
    return circuit.isProbed ? policy.openMs : Math.max(0, circuit.until - now());
  }

  /** One operation fails while others work: this says nothing about the host, and must not stop the others. */
  function isFailingAlone(): boolean {
    const answered = [...operations].filter(([, { answeredAt }]) => answeredAt > now() - policy.maxOpenMs);
    return failed.size === 1 && answered.some(([name]) => !failed.has(name));
  }

  function onAnswer(): void {
    failing = undefined;
    failed.clear();
    Object.assign(circuit, { isOpen: false, isProbed: false, openings: 0, failures: 0 });
  }

  function onFailure(askedMs = 0): void {
    circuit.failures += 1;
    if (!circuit.isProbed && (circuit.failures < policy.failures || isFailingAlone())) return;
    const openings = circuit.openings + 1;
    const { openMs: firstMs, maxOpenMs: maxMs } = policy;
    const ms = backoffMs({ firstMs, maxMs }, openings, { askedMs: Math.min(askedMs, maxMs) });
    Object.assign(circuit, { isOpen: true, isProbed: false, until: now() + ms, openings });
    log.warn({ ms }, 'The service fails repeatedly: all calls to it are suspended');
  }

  function pause(operation: OperationState, { operation: name, retryAfterMs }: ServiceError): void {
    operation.pauseCount += 1;
    const askedMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, policy.maxOpenMs);
    const ms = backoffMs(pauses, operation.pauseCount, { askedMs, random });
    operation.pausedUntil = now() + ms;
    log.warn({ operation: name, ms }, 'The service throttles an operation: its calls are paused');
  }

  return {
    circuit: (): CircuitState =>
      circuit.isOpen ? { state: 'open', retryAfterMs: circuitWaitMs() } : { state: 'closed' },
    /** Milliseconds since the first failure without a later success, if the circuit is open or this is an outage. */
    failingMs(): number | undefined {
      if (failing === undefined) return undefined;
      const ms = now() - failing.from;
      return circuit.isOpen || (ms >= outageMs && failing.to - failing.from >= apartMs) ? ms : undefined;
    },
    /**
     * Runs `work` in a slot of the operation, first come first served, after its pause. Rejects with `circuit_open` if
     * the pause is long, or if the call may not wait for it.
     */
    async inSlot<T>(name: string, signal: AbortSignal, mayWait: boolean, work: () => Promise<T>): Promise<T> {
      const operation = stateOf(name);
      const slot = Promise.withResolvers<void>();
      const result = operation.limit(async () => {
        slot.resolve();
        for (let ms = 1; ms > 0; ) {
          ms = operation.pausedUntil - now();
          if (ms > (mayWait ? policy.retryAfterCapMs : 0))
            throw suspended(name, 'the service throttles this operation', ms);
          if (ms > 0)
            await sleep(ms, signal).catch((cause: unknown) => Promise.reject(abortedError(name, 'none', cause)));
        }
        return work();
      });
      // A call that was aborted while it waited still gets its slot, and leaves it at once.
      result.catch(() => undefined);
      await untilAborted(name, signal, slot.promise);
      return result;
    },
    /** Makes one request unless the circuit is open, and learns from its outcome. */
    async request<T>(name: string, send: () => Promise<T>): Promise<T> {
      if (circuitWaitMs() > 0) throw suspended(name, 'the service has failed repeatedly', circuitWaitMs());
      const isProbe = circuit.isOpen;
      circuit.isProbed = isProbe;
      // While the circuit is open, only its probe shows how the host is now.
      const counts = () => isProbe || !circuit.isOpen;
      const operation = stateOf(name);
      const { pauseCount } = operation;
      try {
        const answer = await send();
        operation.pauseCount = 0;
        operation.answeredAt = now();
        if (counts()) onAnswer();
        return answer;
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code === 'aborted' || error.code === 'stalled') {
          // This says nothing about the host, so the next call becomes the probe.
          if (isProbe) circuit.isProbed = false;
        } else if (hostFailures.has(error.code) || error.status === 408) {
          failing = { from: failing?.from ?? now(), to: now() };
          failed.add(name);
          if (counts()) onFailure(error.retryAfterMs);
        } else {
          if (counts()) onAnswer();
          if (error.code === 'rate_limited' && pauseCount === operation.pauseCount) pause(operation, error);
        }
        throw error;
      }
    },
  };
}

function suspended(operation: string, message: string, retryAfterMs: number): ServiceError {
  return new ServiceError('circuit_open', message, { operation, effect: 'none', retryAfterMs });
}
