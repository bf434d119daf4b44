import pRetry from 'p-retry';
import manifest from '../../../package.json' with { type: 'json' };
import type { Log } from '../../log.ts';
import { type Answer, readAnswer } from '../answers/envelope.ts';
import { type Reading, UnreadableData } from '../answers/reading.ts';
import { type ErrorCode, ServiceError } from '../errors.ts';
import { type Base, type Path, type Query, target } from './address.ts';
import type { Authorization } from './authorization.ts';
import { type Circuit, isHostFailure } from './circuit.ts';
import type { Clock } from './clock.ts';
import type { Exchanger, Received, Sent } from './exchange.ts';
import { refusal } from './refusal.ts';
import { type RetryPolicy, waitBeforeRetry } from './retry.ts';

/** What a caller may say about one call. */
export interface CallOptions {
  /** Gives up: the call rejects with `aborted`, and nothing is counted against the service. */
  signal?: AbortSignal;
}

/** One operation of the API: what is sent, and how its `data` is read. */
export interface Operation<T> {
  /** `resource.verb`, for errors, logs and metrics. */
  name: string;
  method: Sent['method'];
  path: Path;
  query?: Query;
  body?: unknown;
  read(data: unknown, reading: Reading): T;
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
  /** For what may be done twice, reads and idempotent writes: repeated in place by the retry policy. */
  repeatable<T>(operation: Operation<T>, call: CallOptions | undefined): Promise<Answer<T>>;
  /** For what must not be done twice: one request leaves at most, whatever comes back. */
  once<T>(operation: Operation<T>, call: CallOptions | undefined): Promise<Answer<T>>;
}

export interface TransportParts {
  base: Base;
  exchanger: Exchanger;
  authorization: Authorization;
  circuit: Circuit;
  retry: RetryPolicy;
  clock: Clock;
  log: Log;
  onAnswer: ((moment: AnswerMoment) => void) | undefined;
}

const userAgent = `trunkline/${manifest.version}`;

export function createTransport(parts: TransportParts): Transport {
  const { base, exchanger, authorization, circuit, retry, clock, log, onAnswer } = parts;

  async function repeatable<T>(operation: Operation<T>, call: CallOptions = {}): Promise<Answer<T>> {
    const began = clock.now();
    return pRetry((attempt) => renewing(operation, call.signal, attempt), {
      retries: retry.tries - 1,
      minTimeout: 0,
      onFailedAttempt: async ({ error, attemptNumber }) => {
        if (!(error instanceof ServiceError)) throw error;
        const wait = waitBeforeRetry(error, attemptNumber, retry, clock.random);
        if (wait === undefined || clock.now() + wait - began > retry.withinMs) throw error;
        log.debug({ operation: operation.name, code: error.code, attempt: attemptNumber, wait }, 'trying once more');
        await clock.sleep(wait, call.signal).catch((cause: unknown) => {
          throw new ServiceError('aborted', 'the caller gave up', {
            operation: operation.name,
            effect: error.effect,
            cause,
          });
        });
      },
    });
  }

  async function renewing<T>(
    operation: Operation<T>,
    signal: AbortSignal | undefined,
    attempt: number,
  ): Promise<Answer<T>> {
    const credential = await authorization.current(operation.name);
    try {
      return await tryOnce(operation, signal, attempt, credential);
    } catch (error) {
      const replacement = await replacementAfter(error, credential, operation.name);
      if (replacement === undefined) throw error;
      return tryOnce(operation, signal, attempt, replacement);
    }
  }

  async function once<T>(operation: Operation<T>, call: CallOptions = {}): Promise<Answer<T>> {
    const credential = await authorization.current(operation.name);
    try {
      return await tryOnce(operation, call.signal, 1, credential);
    } catch (error) {
      const replacement = await replacementAfter(error, credential, operation.name);
      if (replacement === undefined) throw error;
      const { status, scope } = error as ServiceError;
      const details = { operation: operation.name, advice: 'retry', effect: 'none', status, scope } as const;
      throw new ServiceError('unauthenticated', 'the credential was refused and has been renewed since', details);
    }
  }

  function replacementAfter(error: unknown, credential: string, operation: string): Promise<string | undefined> {
    const isRefused = error instanceof ServiceError && error.code === 'unauthenticated';
    return isRefused ? authorization.replacement(credential, operation) : Promise.resolve(undefined);
  }

  async function tryOnce<T>(
    operation: Operation<T>,
    signal: AbortSignal | undefined,
    attempt: number,
    credential: string,
  ): Promise<Answer<T>> {
    const request = toRequest(operation, credential);
    const permit = circuit.enter();
    if ('retryAfterMs' in permit) {
      const details = { operation: operation.name, effect: 'none', retryAfterMs: permit.retryAfterMs } as const;
      throw new ServiceError('circuit_open', 'the service has failed repeatedly and is given a rest', details);
    }
    const began = performance.now();
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
      if (status < 200 || status > 299) throw refusal(operation.name, received, credential, clock.now());
      const answer = read(operation, received);
      permit.succeeded();
      tell('ok');
      return answer;
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        permit.abandoned();
        throw error;
      }
      status ??= error.status;
      if (error.code === 'aborted') permit.abandoned();
      else if (isHostFailure(error)) permit.failed();
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
    const path = target(base, operation.path, operation.query, operation.name);
    return { operation: operation.name, method: operation.method, path, headers, body };
  }

  return { repeatable, once };
}

function read<T>(operation: Operation<T>, received: Received): Answer<T> {
  try {
    return readAnswer(received.body, operation.read);
  } catch (error) {
    if (!(error instanceof UnreadableData)) throw error;
    const details = { operation: operation.name, status: received.status, effect: 'unknown' } as const;
    throw new ServiceError('unreadable', `${error.message}, with status ${received.status}`, details);
  }
}
