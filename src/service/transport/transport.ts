import pRetry from 'p-retry';
import manifest from '../../../package.json' with { type: 'json' };
import { type Answer, type Read, readAnswer } from '../answers/envelope.ts';
import { UnreadableData } from '../answers/reading.ts';
import { type Effect, type ErrorCode, ServiceError, withVerdict } from '../errors.ts';
import { type Base, type Path, type Query, target } from './address.ts';
import type { Authorization } from './authorization.ts';
import { isCrowded, isHostFailure } from './circuit.ts';
import type { Circuits } from './circuits.ts';
import type { Clock } from './clock.ts';
import type { Exchanger, Received, Sent } from './exchange.ts';
import type { Lanes } from './lanes.ts';
import { refusal } from './refusal.ts';
import { type RetryPolicy, waitBeforeRetry } from './retry.ts';
import type { WaitingRequests } from './waiting.ts';

/** What a caller may say about one call. */
export interface CallOptions {
  /** Gives up: the call rejects with `aborted`, and nothing is counted against the service. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for each whole answer, from the first byte sent, instead of `headersMs` and `answerMs` of the limits. */
  answerMs?: number | undefined;
  /**
   * Asked when the connection stands, right before the first byte: on false nothing leaves, the call rejects with
   * `stalled`, and nothing is counted against the service. For what must not leave late, however long the credential and
   * the connection took.
   */
  mayLeave?: (() => boolean) | undefined;
}

/** One operation of the API: what is sent, and how its `data` is read. */
export interface Operation<T> {
  /** `resource.verb`, for errors, logs and metrics. */
  name: string;
  method: Sent['method'];
  path: Path;
  query?: Query;
  body?: unknown;
  /** Why the service must refuse it: then nothing leaves, and the call rejects with `invalid_request`. */
  fault?: string | undefined;
  /** A 4xx or 5xx with the error envelope is proof that nothing happened. Section 7 promises it for sends alone. */
  failsClean?: true;
  /** How its `data` is read; `nothing` where 204 is documented. */
  read: Read<T>;
}

/** One try that ended, for metrics. */
export interface AnswerMoment {
  operation: string;
  outcome: 'ok' | ErrorCode;
  /** Absent when no answer came. */
  status?: number;
  milliseconds: number;
  /** From 1. */
  attempt: number;
}

export interface Transport {
  /**
   * For what may be done twice, reads and idempotent writes: repeated in place by the retry policy. A DELETE that is not
   * found after a try that may have worked has reached its aim, and answers as a success.
   */
  repeatable<T>(operation: Operation<T>, call: CallOptions | undefined): Promise<Answer<T>>;
  /**
   * For what must not be done twice: one request leaves at most, whatever comes back, on a connection of its own. Where it
   * may have been carried out (effect `unknown`), the error's advice is `reconcile`.
   */
  once<T>(operation: Operation<T>, call: CallOptions | undefined): Promise<Answer<T>>;
  /**
   * Gives up what is under way, with `aborted`, and lets nothing begin any more: what may be repeated, or all. The effect of
   * what must not be repeated and has left is then unknown.
   */
  abandon(what: 'repeatable' | 'all'): void;
}

export interface TransportParts {
  base: Base;
  exchanger: Exchanger;
  authorization: Authorization;
  circuits: Circuits;
  lanes: Lanes;
  waiting: WaitingRequests;
  retry: RetryPolicy;
  clock: Clock;
  log: { debug(fields: object, message: string): void };
  onAnswer: ((moment: AnswerMoment) => void) | undefined;
}

const userAgent = `trunkline/${manifest.version}`;

export function createTransport(parts: TransportParts): Transport {
  const { base, exchanger, authorization, circuits, lanes, waiting, retry, clock, log, onAnswer } = parts;
  const underWay = { repeatable: new Set<AbortController>(), once: new Set<AbortController>() };
  let isEnding = false;

  /** Runs a call with a signal that also fires when it is abandoned. */
  async function abandonable<T>(
    kind: keyof typeof underWay,
    operation: Operation<T>,
    call: CallOptions | undefined,
    run: (call: CallOptions & { signal: AbortSignal }) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    refuseFaulty(operation);
    if (isEnding) throw givenUp(operation, 'none', new Error('the client ends'));
    const own = new AbortController();
    const outer = call?.signal;
    const onAbort = () => own.abort(outer?.reason);
    if (outer?.aborted) onAbort();
    outer?.addEventListener('abort', onAbort, { once: true });
    underWay[kind].add(own);
    try {
      return await run({ ...call, signal: own.signal });
    } finally {
      underWay[kind].delete(own);
      outer?.removeEventListener('abort', onAbort);
    }
  }

  /** Waits for a credential, however long its refresh takes, until the call is given up. */
  async function credentialFor<T, C>(operation: Operation<T>, signal: AbortSignal, credential: Promise<C>): Promise<C> {
    const gaveUp = Promise.withResolvers<never>();
    const onAbort = () => gaveUp.reject(givenUp(operation, 'none', signal.reason));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([credential, gaveUp.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async function repeat<T>(operation: Operation<T>, call: CallOptions & { signal: AbortSignal }): Promise<Answer<T>> {
    let began: number | undefined;
    let isInDoubt = false;
    const inLane = async (attempt: number): Promise<Answer<T>> => {
      const place = await lanes.enter(operation.name, call.signal).catch((cause: unknown) => {
        throw givenUp(operation, 'none', cause);
      });
      began ??= clock.now();
      try {
        const answer = await renewing(operation, call, attempt);
        place.answered();
        return answer;
      } catch (error) {
        if (error instanceof ServiceError && isCrowded(error)) place.refused(error.retryAfterMs);
        else place.left();
        throw error;
      }
    };
    const answer = pRetry(inLane, {
      retries: retry.tries - 1,
      minTimeout: 0,
      onFailedAttempt: async ({ error, attemptNumber }) => {
        if (!(error instanceof ServiceError)) throw error;
        isInDoubt ||= error.effect === 'unknown';
        const wait = waitBeforeRetry(error, attemptNumber, retry, clock.random);
        if (wait === undefined || clock.now() + wait - (began ?? 0) > retry.withinMs) throw error;
        log.debug({ operation: operation.name, code: error.code, attempt: attemptNumber, wait }, 'trying once more');
        await clock.sleep(wait, call.signal).catch((cause: unknown) => {
          throw givenUp(operation, error.effect, cause);
        });
      },
    });
    return answer.catch((error: unknown) => {
      if (!isInDoubt || !(error instanceof ServiceError)) throw error;
      if (operation.method === 'DELETE' && error.code === 'not_found')
        return read(operation, { status: 204, body: '' });
      throw withVerdict(error, { effect: 'unknown' });
    });
  }

  async function renewing<T>(
    operation: Operation<T>,
    call: CallOptions & { signal: AbortSignal },
    attempt: number,
  ): Promise<Answer<T>> {
    const credential = await credentialFor(operation, call.signal, authorization.current(operation.name));
    try {
      return await tryOnce(operation, call, attempt, credential);
    } catch (error) {
      const renewal = replacementAfter(error, credential, operation.name);
      const replacement = await credentialFor(operation, call.signal, renewal);
      if (replacement === undefined) throw error;
      return tryOnce(operation, call, attempt, replacement);
    }
  }

  async function leaveOnce<T>(
    operation: Operation<T>,
    call: CallOptions & { signal: AbortSignal },
  ): Promise<Answer<T>> {
    const credential = await credentialFor(operation, call.signal, authorization.current(operation.name));
    const mayLeave = () => !isEnding && call.mayLeave?.() !== false;
    try {
      return await tryOnce(operation, { ...call, mayLeave }, 1, credential, true);
    } catch (error) {
      const replacement = await replacementAfter(error, credential, operation.name);
      if (replacement === undefined) {
        const mayHaveWorked = error instanceof ServiceError && error.effect === 'unknown';
        throw mayHaveWorked ? withVerdict(error, { advice: 'reconcile' }) : error;
      }
      const { status, scope, effect } = error as ServiceError;
      const advice = effect === 'unknown' ? 'reconcile' : 'retry';
      const details = { operation: operation.name, advice, effect, status, scope } as const;
      throw new ServiceError('unauthenticated', 'the credential was refused and has been renewed since', details);
    }
  }

  function replacementAfter(error: unknown, credential: string, operation: string): Promise<string | undefined> {
    const isRefused = error instanceof ServiceError && error.code === 'unauthenticated';
    return isRefused ? authorization.replacement(credential, operation) : Promise.resolve(undefined);
  }

  async function tryOnce<T>(
    operation: Operation<T>,
    { signal, answerMs, mayLeave }: CallOptions,
    attempt: number,
    credential: string,
    isAlone = false,
  ): Promise<Answer<T>> {
    const request = { ...toRequest(operation, credential), answerMs, mayLeave, isAlone };
    const permit = circuits.enter(operation.name);
    if ('retryAfterMs' in permit) {
      const details = { operation: operation.name, effect: 'none', retryAfterMs: permit.retryAfterMs } as const;
      throw new ServiceError('circuit_open', 'the service has failed repeatedly and is given a rest', details);
    }
    const began = performance.now();
    const wait = waiting.begin(operation.name);
    let status: number | undefined;
    const tell = (outcome: AnswerMoment['outcome']): void =>
      onAnswer?.({
        operation: operation.name,
        outcome,
        ...(status !== undefined && { status }),
        milliseconds: performance.now() - began,
        attempt,
      });
    try {
      const received = await exchanger.exchange(request, signal);
      status = received.status;
      wait.answered();
      if (status < 200 || status > 299) throw refusal(operation, received, credential, clock.now());
      const answer = read(operation, received);
      permit.succeeded();
      tell('ok');
      return answer;
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        permit.abandoned();
        wait.abandoned();
        throw error;
      }
      const isGivenUp = error.code === 'aborted' || error.code === 'stalled';
      if (isGivenUp) wait.abandoned();
      else if (status === undefined && error.status === undefined) wait.unanswered();
      else wait.answered();
      status ??= error.status;
      if (isGivenUp) permit.abandoned();
      else if (isHostFailure(error)) permit.failed(error);
      else permit.succeeded();
      tell(error.code);
      throw error;
    }
  }

  function toRequest<T>(operation: Operation<T>, credential: string): Sent {
    const headers: Record<string, string> = {
      accept: 'application/json',
      authorization: credential,
      'user-agent': userAgent,
    };
    const body = operation.body === undefined ? undefined : JSON.stringify(operation.body);
    if (body !== undefined) headers['content-type'] = 'application/json';
    const path = target(base, operation.path, operation.query);
    return { operation: operation.name, method: operation.method, path, headers, body };
  }

  return {
    repeatable: (operation, call) => abandonable('repeatable', operation, call, (own) => repeat(operation, own)),
    once: (operation, call) => abandonable('once', operation, call, (own) => leaveOnce(operation, own)),
    abandon(what) {
      isEnding = true;
      for (const each of underWay.repeatable) each.abort(new Error('the client ends'));
      if (what === 'all') for (const each of underWay.once) each.abort(new Error('the client ends'));
    },
  };
}

function givenUp({ name: operation }: Operation<unknown>, effect: Effect, cause: unknown): ServiceError {
  return new ServiceError('aborted', 'the caller gave up', { operation, effect, cause });
}

function refuseFaulty<T>({ name, path, fault = path.fault }: Operation<T>): void {
  if (fault !== undefined) throw new ServiceError('invalid_request', fault, { operation: name, effect: 'none' });
}

function read<T>(operation: Operation<T>, { status, body }: Pick<Received, 'status' | 'body'>): Answer<T> {
  try {
    return { status, ...readAnswer(body, operation.read) };
  } catch (error) {
    if (!(error instanceof UnreadableData)) throw error;
    const details = { operation: operation.name, status, effect: 'unknown', isPage: error.isPage } as const;
    throw new ServiceError('unreadable', `${error.message}, with status ${status}`, details);
  }
}
