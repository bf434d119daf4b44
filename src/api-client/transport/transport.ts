import pRetry from 'p-retry';
import manifest from '../../../package.json' with { type: 'json' };
import { backoffMs } from '../../shared/backoff.ts';
import { createDifferenceLog } from '../answers/differences.ts';
import { type Answer, readAnswer } from '../answers/envelope.ts';
import { type Report, UnreadableData } from '../answers/values.ts';
import { abortedError, type ErrorCode, ServiceError, withOutcome } from '../errors.ts';
import type { Clock } from './clock.ts';
import type { Exchanger, HttpRequest, HttpResponse } from './exchange.ts';
import { type Base, type CallOptions, type Operation, target } from './operation.ts';
import { refusal } from './refusal.ts';
import type { Throttle } from './throttle.ts';

/** How repeatable operations are retried in place. Sync targets are also retried later, from the database. */
export const defaultRetry = {
  /** Tries in all, the first included. */
  tries: 3,
  /** Milliseconds: the first wait is random between 0 and this; the range doubles each time. */
  baseMs: 100,
  /** Milliseconds: the maximum of a random wait. */
  capMs: 2_000,
  /** Milliseconds: a longer `Retry-After`, or pause of the operation, is left to the caller. */
  retryAfterCapMs: 5_000,
  /** Milliseconds after the start of the first try within which another may start. */
  withinMs: 15_000,
};

export type RetryPolicy = typeof defaultRetry;

const transientErrors = new Set(['network', 'timeout', 'server', 'rate_limited']);

/**
 * Milliseconds to wait after failed try number `attempt` (from 1), with full jitter. `undefined` means no retry in
 * place: the error isn't transient, the tries are used up, or the service asks for a longer wait.
 */
function waitBeforeRetry(
  error: ServiceError,
  attempt: number,
  { tries, baseMs, capMs, retryAfterCapMs }: RetryPolicy,
  random: () => number,
): number | undefined {
  if (!transientErrors.has(error.code) || attempt >= tries) return undefined;
  const askedMs = error.retryAfterMs;
  if (askedMs !== undefined && askedMs > retryAfterCapMs) return undefined;
  return backoffMs({ firstMs: baseMs, maxMs: capMs, jitter: 1 }, attempt, { askedMs, random });
}

const minuteMs = 60_000;

/** Counts the requests of the last minute. */
export function createRequestCount(now: () => number) {
  let begun: number[] = [];
  function lastMinute(): number {
    begun = begun.filter((at) => at > now() - minuteMs);
    return begun.length;
  }
  return {
    begin(): void {
      begun.push(now());
      if (begun.length % 1_000 === 0) lastMinute();
    },
    lastMinute,
  };
}

/** One finished request, for metrics. */
export interface RequestAttempt {
  operation: string;
  outcome: 'ok' | ErrorCode;
  /** Absent when no answer came. */
  status?: number;
  milliseconds: number;
  /** From 1. */
  attempt: number;
  /** The `Date` header, when one came. */
  date: string | undefined;
}

export interface Transport {
  /**
   * For reads and idempotent writes: retried in place by the retry policy. A DELETE answered `not_found` after a try
   * that may have worked counts as a success.
   */
  repeatable<T>(call: CallOptions | undefined, operation: Operation<T>): Promise<Answer<T>>;
  /**
   * For operations that aren't idempotent: sends at most one request, on its own connection. When the service may have
   * carried it out (effect `unknown`), the error's advice is `reconcile`.
   */
  once<T>(call: CallOptions | undefined, operation: Operation<T>): Promise<Answer<T>>;
  /**
   * Ends the client: new calls, and repeatable calls in flight, reject with `aborted`. With 'all', calls that aren't
   * repeatable are aborted too, and their effect is unknown.
   */
  abandon(what: 'repeatable' | 'all'): void;
}

export interface TransportDeps {
  base: Base;
  exchanger: Exchanger;
  /** The header's whole value. */
  authorization: string;
  throttle: Throttle;
  count: ReturnType<typeof createRequestCount>;
  retry: RetryPolicy;
  clock: Clock;
  log: Record<'debug' | 'info', (fields: object, message: string) => void>;
  onAnswer: ((moment: RequestAttempt) => void) | undefined;
}

/** One call. Its signal also fires when the client abandons it. */
interface Call extends CallOptions {
  readonly signal: AbortSignal;
  readonly isOnce: boolean;
  /** Called when a try has got its slot. */
  readonly onSlot?: () => void;
}

const userAgent = `trunkline/${manifest.version}`;

// One try: slot and pause of the operation ──▶ circuit breaker ──▶ exchange

export function createTransport(deps: TransportDeps): Transport {
  const { base, exchanger, authorization, throttle, count, retry, clock, log, onAnswer } = deps;
  const inFlight = { repeatable: new Set<AbortController>(), once: new Set<AbortController>() };
  const reportOf = createDifferenceLog(log);
  let isEnding = false;

  async function abandonable<T>(
    kind: keyof typeof inFlight,
    operation: Operation<T>,
    options: CallOptions | undefined,
    run: (operation: Operation<T>, call: Call) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    const { name, problem } = operation;
    if (problem !== undefined) throw new ServiceError('invalid_request', problem, { operation: name, effect: 'none' });
    if (isEnding) throw abortedError(operation.name, 'none', new Error('the client is closing'));
    const own = new AbortController();
    const outer = options?.signal;
    const onAbort = () => own.abort(outer?.reason);
    if (outer?.aborted) onAbort();
    outer?.addEventListener('abort', onAbort, { once: true });
    inFlight[kind].add(own);
    try {
      return await run(operation, { ...options, signal: own.signal, isOnce: kind === 'once' });
    } finally {
      inFlight[kind].delete(own);
      outer?.removeEventListener('abort', onAbort);
    }
  }

  async function repeat<T>(operation: Operation<T>, call: Call): Promise<Answer<T>> {
    let began: number | undefined;
    let isInDoubt = false;
    const onSlot = () => {
      began ??= clock.now();
    };
    const answer = pRetry((attempt) => tryOnce(operation, { ...call, onSlot }, attempt), {
      retries: retry.tries - 1,
      minTimeout: 0,
      onFailedAttempt: async ({ error, attemptNumber }) => {
        if (!(error instanceof ServiceError)) throw error;
        isInDoubt ||= error.effect === 'unknown';
        const wait = waitBeforeRetry(error, attemptNumber, retry, clock.random);
        if (wait === undefined || clock.now() + wait - (began ?? 0) > retry.withinMs) throw error;
        log.debug(
          { operation: operation.name, requestId: call.requestId, code: error.code, attempt: attemptNumber, wait },
          'Retrying the request',
        );
        await clock.sleep(wait, call.signal).catch((cause: unknown) => {
          throw abortedError(operation.name, error.effect, cause);
        });
      },
    });
    return answer.catch((error: unknown) => {
      if (!isInDoubt || !(error instanceof ServiceError)) throw error;
      if (operation.method === 'DELETE' && error.code === 'not_found')
        return read(operation, { status: 204, body: '' }, reportOf(operation.name));
      throw withOutcome(error, { effect: 'unknown' });
    });
  }

  async function sendOnce<T>(operation: Operation<T>, call: Call): Promise<Answer<T>> {
    const maySend = () => !isEnding && call.maySend?.() !== false;
    try {
      return await tryOnce(operation, { ...call, maySend }, 1);
    } catch (error) {
      const mayHaveWorked = error instanceof ServiceError && error.effect === 'unknown';
      throw mayHaveWorked ? withOutcome(error, { advice: 'reconcile' }) : error;
    }
  }

  function tryOnce<T>(operation: Operation<T>, call: Call, attempt: number): Promise<Answer<T>> {
    const { name } = operation;
    return throttle.inSlot(name, call.signal, !call.isOnce, () => {
      call.onSlot?.();
      return throttle.request(name, () => exchange(operation, call, attempt));
    });
  }

  async function exchange<T>(
    operation: Operation<T>,
    { signal, answerMs, maySend, isOnce, requestId }: Call,
    attempt: number,
  ): Promise<Answer<T>> {
    const { name } = operation;
    const began = performance.now();
    count.begin();
    let status: number | undefined;
    let date: string | undefined;
    const report = (outcome: RequestAttempt['outcome']): void => {
      const milliseconds = performance.now() - began;
      onAnswer?.({ operation: name, outcome, ...(status !== undefined && { status }), milliseconds, attempt, date });
    };
    try {
      const sent = { ...toRequest(operation, requestId), answerMs, maySend, ownConnection: isOnce };
      const received = await exchanger.exchange(sent, signal);
      status = received.status;
      date = received.header('date');
      if (status < 200 || status > 299) throw refusal(operation, received, authorization, clock.now());
      const answer = read(operation, received, reportOf(name));
      report('ok');
      return answer;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      status ??= error.status;
      report(error.code);
      throw error;
    }
  }

  function toRequest<T>(operation: Operation<T>, requestId: string | undefined): HttpRequest {
    const headers: Record<string, string> = { accept: 'application/json', authorization, 'user-agent': userAgent };
    const body = operation.body === undefined ? undefined : JSON.stringify(operation.body);
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (requestId !== undefined) headers['x-request-id'] = requestId;
    return { operation: operation.name, method: operation.method, path: target(base, operation), headers, body };
  }

  return {
    repeatable: (options, operation) => abandonable('repeatable', operation, options, repeat),
    once: (options, operation) => abandonable('once', operation, options, sendOnce),
    abandon(what) {
      isEnding = true;
      for (const each of inFlight.repeatable) each.abort(new Error('the client is closing'));
      if (what === 'all') for (const each of inFlight.once) each.abort(new Error('the client is closing'));
    },
  };
}

function read<T>(
  operation: Operation<T>,
  { status, body }: Pick<HttpResponse, 'status' | 'body'>,
  report: Report,
): Answer<T> {
  try {
    return { status, data: readAnswer(body, operation.read, report) };
  } catch (error) {
    if (!(error instanceof UnreadableData)) throw error;
    const details = { operation: operation.name, status, effect: 'unknown' } as const;
    throw new ServiceError('unreadable', `${status}: ${error.message}`, details);
  }
}
