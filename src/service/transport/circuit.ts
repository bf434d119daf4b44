import type { ServiceError } from '../errors.ts';

// closed ──(failures in a row within the window)──▶ open ──(its time is over)──▶ half_open
//   ▲                                               ▲                              │ │
//   └───────────────────(the probe succeeds)────────│──────────────────────────────┘ │
//                                                   └────(it fails: twice the time)──┘

/** When repeated failure closes the door for a while. */
export interface CircuitPolicy {
  /** Failed tries in a row that open it. Default 8. */
  failures: number;
  /** Milliseconds in which they must have happened. Default 30,000. */
  windowMs: number;
  /** Milliseconds that it stays open at first; doubled after each failed probe. Default 5,000. */
  openMs: number;
  /** Milliseconds: the most that doubling leads to. Default 60,000. */
  maxOpenMs: number;
  /** Milliseconds: the most that the service is heeded when it asks for a pause. Default 60,000. */
  maxAskedMs: number;
}

export const defaultCircuit: CircuitPolicy = {
  failures: 8,
  windowMs: 30_000,
  openMs: 5_000,
  maxOpenMs: 60_000,
  maxAskedMs: 60_000,
};

/** What a caller may see: while `open`, calls fail at once, and `retryAfterMs` says for how long. */
export interface CircuitState {
  state: 'closed' | 'open' | 'half_open';
  failuresInARow: number;
  retryAfterMs?: number;
}

/** Leave for one try. Exactly one of its endings is to be called; those of an older era change nothing. */
export interface Permit {
  succeeded(): void;
  /** The service may have asked to be left alone for so many milliseconds. */
  failed(retryAfterMs?: number): void;
  /** It failed since there was too much at a time: that counts once for all that were out together. */
  crowded(retryAfterMs?: number): void;
  /** The caller gave up: this says nothing about the service. */
  abandoned(): void;
}

export interface Circuit {
  state(): CircuitState;
  /** The milliseconds to wait before a call is let through; 0 when it is now. */
  restMs(): number;
  /** Only while nothing is to be waited for. */
  enter(): Permit;
}

const hostFailures = new Set(['network', 'timeout', 'server', 'rate_limited', 'unreadable', 'unexpected_status']);

/** Whether an error speaks of the service as a whole rather than of this request. */
export function isHostFailure(error: ServiceError): boolean {
  return hostFailures.has(error.code) && error.advice === 'retry';
}

/** Whether the service, or what stands before it, turned a request away for its load: fewer at a time may be taken. */
export function isCrowded({ code, status }: ServiceError): boolean {
  return code === 'rate_limited' || status === 503;
}

/** `onChange` is told of every change of state. */
export function createCircuit(
  policy: CircuitPolicy,
  now: () => number,
  onChange: (state: CircuitState) => void,
): Circuit {
  let state: CircuitState['state'] = 'closed';
  let failures: number[] = [];
  let openUntil = 0;
  let openMs = policy.openMs;
  // Tries that began before the last change of state must not decide about the present one.
  let era = 0;
  let crowds = 0;

  function current(): CircuitState {
    const failuresInARow = failures.length;
    return state === 'open'
      ? { state, failuresInARow, retryAfterMs: Math.max(0, openUntil - now()) }
      : { state, failuresInARow };
  }

  function change(next: CircuitState['state']): void {
    state = next;
    era += 1;
    onChange(current());
  }

  function open(forMs: number, askedMs = 0): void {
    openMs = Math.min(forMs, policy.maxOpenMs);
    openUntil = now() + Math.max(openMs, Math.min(askedMs, policy.maxAskedMs));
    change('open');
  }

  function failed(retryAfterMs?: number): void {
    failures = [...failures, now()].slice(-policy.failures);
    if (state === 'half_open') open(openMs * 2, retryAfterMs);
    else if (failures.length === policy.failures && now() - (failures[0] ?? 0) <= policy.windowMs) {
      open(policy.openMs, retryAfterMs);
    }
  }

  function permit(): Permit {
    const mine = era;
    const crowdsBefore = crowds;
    const inMyEra =
      <A extends unknown[]>(act: (...given: A) => void) =>
      (...given: A) => {
        if (mine === era) act(...given);
      };
    return {
      succeeded: inMyEra(() => {
        failures = [];
        if (state === 'half_open') change('closed');
      }),
      failed: inMyEra(failed),
      crowded: inMyEra((retryAfterMs?: number) => {
        if (crowds !== crowdsBefore) return;
        crowds += 1;
        failed(retryAfterMs);
      }),
      abandoned: inMyEra(() => {
        if (state !== 'half_open') return;
        // The next call becomes the probe, without another wait.
        openUntil = now();
        change('open');
      }),
    };
  }

  return {
    state: current,
    restMs() {
      if (state === 'closed') return 0;
      // While the probe is out, others wait about as long as it was closed at first.
      return state === 'half_open' ? policy.openMs : Math.max(0, openUntil - now());
    },
    enter() {
      if (state === 'open') change('half_open');
      return permit();
    },
  };
}
