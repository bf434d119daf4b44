import { backoffMs } from '../../shared/backoff.ts';

// closed ──(failures in a row within the window)──▶ open ──(its time is over)──▶ half_open
//   ▲                                               ▲                              │ │
//   └───────────────────(the probe succeeds)────────│──────────────────────────────┘ │
//                                                   └────(it fails: twice the time)──┘

/** When repeated failures suspend all calls to a host. Times in milliseconds. */
export interface CircuitPolicy {
  /** Failed requests in a row that open it. Default 8. */
  failures: number;
  /** The time within which they must happen. Default 30,000. */
  windowMs: number;
  /** How long it first stays open; doubled after each failed probe. Default 5,000. */
  openMs: number;
  /** The maximum after doubling. Default 60,000. */
  maxOpenMs: number;
  /** The longest Retry-After that is honoured. Default 60,000. */
  maxAskedMs: number;
}

export const defaultCircuit: CircuitPolicy = {
  failures: 8,
  windowMs: 30_000,
  openMs: 5_000,
  maxOpenMs: 60_000,
  maxAskedMs: 60_000,
};

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

export interface CircuitBreaker {
  state(): CircuitState;
  /** Milliseconds until a call is let through; 0 means now. */
  waitMs(): number;
  /** Call it only while `waitMs` is 0. */
  enter(): Permit;
}

export function createCircuitBreaker(
  policy: CircuitPolicy,
  now: () => number,
  onChange: (state: CircuitState) => void,
): CircuitBreaker {
  let state: CircuitState['state'] = 'closed';
  let failures: number[] = [];
  let openUntil = 0;
  /** Openings in a row, including those after failed probes. */
  let openings = 0;
  // A request started before the last change of state must not affect the current state.
  let changes = 0;

  function current(): CircuitState {
    const failuresInARow = failures.length;
    return state === 'open' ? { state, failuresInARow, retryAfterMs: waitMs() } : { state, failuresInARow };
  }

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
    waitMs,
    enter() {
      if (state === 'open') change('half_open');
      const entered = changes;
      return {
        succeeded() {
          if (entered !== changes) return;
          failures = [];
          if (state === 'half_open') change('closed');
        },
        failed(askedMs) {
          if (entered === changes) failed(askedMs);
        },
        overloaded(askedMs) {
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
