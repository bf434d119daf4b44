import type { ServiceError } from '../errors.ts';
import { type Circuit, type CircuitPolicy, type CircuitState, createCircuit, isCrowded } from './circuit.ts';

/** Leave for one try of an operation. Exactly one of its endings is to be called. */
export interface TryPermit {
  succeeded(): void;
  /** What failed speaks of the service rather than of this request. */
  failed(error: ServiceError): void;
  /** The caller gave up: this says nothing about the service. */
  abandoned(): void;
}

/** The circuit of a host, and one for each of its operations, which is for throttling alone. */
export interface Circuits {
  /** That of the host. */
  state(): CircuitState;
  /** The milliseconds to wait before a call is let through; 0 when it is now. */
  restMs(operation: string): number;
  /** A permit, or the milliseconds to wait when there is none. */
  enter(operation: string): TryPermit | { retryAfterMs: number };
}

/** Told of every change of state, and of which operation; of the host without one. */
export type OnCircuitChange = (state: CircuitState, operation?: string) => void;

/**
 * Times of its first pause that an operation rests at most, unless more is asked for: what is throttled is let through now
 * and then, and few calls would find that out if their distances went on doubling.
 */
const longestThrottle = 2;

/**
 * A service that throttles is there, and often limits each operation by itself: so a pause that it asks for rests the
 * operation that it was asked of, or a back-fill of recordings would keep today's texts waiting. Every other failure is
 * one of the host.
 */
export function createCircuits(policy: CircuitPolicy, now: () => number, onChange: OnCircuitChange): Circuits {
  const host = createCircuit(policy, now, (state) => onChange(state));
  const operations = new Map<string, Circuit>();
  const throttled = { ...policy, maxOpenMs: Math.min(policy.maxOpenMs, policy.openMs * longestThrottle) };

  function circuitOf(operation: string): Circuit {
    const circuit = operations.get(operation) ?? createCircuit(throttled, now, (state) => onChange(state, operation));
    operations.set(operation, circuit);
    return circuit;
  }

  // Whoever is let through by one alone would be taken for its probe.
  const restMs = (operation: string) => Math.max(host.restMs(), circuitOf(operation).restMs());

  return {
    state: host.state,
    restMs,
    enter(operation) {
      const throttle = circuitOf(operation);
      const retryAfterMs = restMs(operation);
      if (retryAfterMs > 0) return { retryAfterMs };
      const permits = { host: host.enter(), operation: throttle.enter() };
      return {
        succeeded() {
          permits.host.succeeded();
          permits.operation.succeeded();
        },
        failed(error) {
          const { code, retryAfterMs } = error;
          if (code === 'rate_limited') {
            permits.host.succeeded();
            permits.operation.crowded(retryAfterMs);
            return;
          }
          if (isCrowded(error)) permits.host.crowded(retryAfterMs);
          else permits.host.failed(retryAfterMs);
          permits.operation.abandoned();
        },
        abandoned() {
          permits.host.abandoned();
          permits.operation.abandoned();
        },
      };
    },
  };
}
