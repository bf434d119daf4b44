import { backoffMs } from '../../shared/backoff.ts';

// closed ──(failures in a row within the window)──▶ open ──(its time is over)──▶ half_open
//   ▲                                               ▲                              │ │
//   └───────────────────(the probe succeeds)────────│──────────────────────────────┘ │
//                                                   └────(it fails: twice the time)──┘

/** When repeated failures suspend all calls to a host. Times in milliseconds. */
export const defaultCircuit = {
  /** Failed requests in a row that open it. */
  failures: 8,
  /** The time within which they must happen. */
  windowMs: 30_000,
  /** How long it first stays open; doubled after each failed probe. */
  openMs: 5_000,
  /** The maximum after doubling. */
  maxOpenMs: 60_000,
  /** The longest Retry-After that is honoured. */
  maxAskedMs: 60_000,
  /** Without any success for so long, the host counts as failing even if the circuit is closed. */
  outageMs: 20_000,
};

export type CircuitPolicy = typeof defaultCircuit;

/** Failures closer together may be the tries of one call, which prove no outage. */
const apartMs = 5_000;

/** While `open`, calls fail immediately, for another `retryAfterMs`. */
export interface CircuitState {
  state: 'closed' | 'open' | 'half_open';
  failuresInARow: number;
  retryAfterMs?: number;
}

/** Permission for one request. The caller must call one method when it ends; after a change of state it has no effect. */
export interface Permit {
  succeeded(): void;
  /** `askedMs`: the service's Retry-After. */
  failed(askedMs?: number): void;
  /** It was refused with 503 beside other requests, so there were too many. Counts as a failure of a probe only. */
  overloaded(askedMs?: number): void;
  /** The caller aborted it, which says nothing about the host. */
  abandoned(): void;
}

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

export function createCircuitBreaker(
  policy: CircuitPolicy,
  now: () => number,
  onChange: (state: CircuitState) => void,
) {
  let state: CircuitState['state'] = 'closed';
  let failures: number[] = [];
  /** The first and the latest failure, overload included, since the last success. */
  let failing: { readonly from: number; readonly to: number } | undefined;
  let openUntil = 0;
  /** Openings in a row, including those after failed probes. */
  let openings = 0;
  // A request started before the last change of state must not affect the current state.
  let changes = 0;

  function current(): CircuitState {
    const failuresInARow = failures.length;
    return state === 'open' ? { state, failuresInARow, retryAfterMs: waitMs() } : { state, failuresInARow };
  }

  /** Milliseconds until a call is let through; 0 means now. */
  function waitMs(): number {
    if (state === 'closed') return 0;
    // While the probe is in flight, other calls wait about as long as the first opening.
    return state === 'half_open' ? policy.openMs : Math.max(0, openUntil - now());
  }

  function change(next: CircuitState['state']): void {
    state = next;
    changes += 1;
    onChange(current());
  }

  function noteFailure(): void {
    failing = { from: failing?.from ?? now(), to: now() };
  }

  function failed(askedMs = 0): void {
    failures = [...failures, now()].slice(-policy.failures);
    const isRow = failures.length === policy.failures && now() - (failures[0] ?? 0) <= policy.windowMs;
    if (state !== 'half_open' && !isRow) return;
    openings = state === 'half_open' ? openings + 1 : 1;
    const backoff = { firstMs: policy.openMs, maxMs: policy.maxOpenMs };
    openUntil = now() + backoffMs(backoff, openings, { askedMs: Math.min(askedMs, policy.maxAskedMs) });
    change('open');
  }

  return {
    state: current,
    /**
     * Milliseconds since the first failure after which no request succeeded, if the circuit is not closed or that has lasted
     * for `outageMs`. Few requests, or 503s beside others, may never open the circuit.
     */
    failingMs(): number | undefined {
      if (failing === undefined) return undefined;
      const ms = now() - failing.from;
      const hasLasted = ms >= policy.outageMs && failing.to - failing.from >= apartMs;
      return state !== 'closed' || hasLasted ? ms : undefined;
    },
    waitMs,
    /** Call it only while `waitMs` is 0. */
    enter(): Permit {
      if (state === 'open') change('half_open');
      const entered = changes;
      return {
        succeeded() {
          if (entered !== changes) return;
          failures = [];
          failing = undefined;
          if (state === 'half_open') change('closed');
        },
        failed(askedMs) {
          noteFailure();
          if (entered === changes) failed(askedMs);
        },
        overloaded(askedMs) {
          noteFailure();
          if (entered === changes && state === 'half_open') failed(askedMs);
        },
        abandoned() {
          if (entered !== changes || state !== 'half_open') return;
          // The next call becomes the probe, without another wait.
          openUntil = now();
          change('open');
        },
      };
    },
  };
}
