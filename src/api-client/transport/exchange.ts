import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import pLimit from 'p-limit';
import type { Agent, Dispatcher } from 'undici';
import { openAgent } from '../../shared/proxy.ts';
import { abortedError, type ErrorCode, ServiceError } from '../errors.ts';

/** Limits of one exchange; times in milliseconds. */
export const defaultLimits = {
  /** Until the connection is ready. */
  connectMs: 5_000,
  /** From the request to the answer's headers. */
  headersMs: 10_000,
  /** From the first byte sent to the last byte read. */
  answerMs: 20_000,
  /** Bytes of a body, as sent and once decoded. */
  bodyBytes: 32 * 1024 * 1024,
  /** Connections at a time. */
  connections: 64,
  /** Requests of one operation in flight: as many as the busiest queue reads at a time. */
  perOperation: 32,
};

export type Limits = typeof defaultLimits;

export interface HttpRequest {
  operation: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** Milliseconds for the whole answer, instead of `headersMs` and `answerMs`. */
  answerMs?: number | undefined;
  /** Called right before the first byte; on false nothing is sent. */
  maySend?: (() => boolean) | undefined;
  /** Opens a new connection: if the service closed an idle one during the request, the effect would be unknown. */
  ownConnection?: boolean;
}

export interface HttpResponse {
  status: number;
  header(name: string): string | undefined;
  body: string;
}

export type Exchanger = ReturnType<typeof createExchanger>;

interface WatchedOptions extends Dispatcher.RequestOptions {
  /** Called when the connection is ready; returns whether the request may be written. */
  onSending: () => boolean;
}

export function createExchanger(origin: string, limits: Limits) {
  let opened: Promise<Agents> | undefined;
  let isClosed = false;

  /** One request and its answer, whatever the status, without retry or redirect. Throws `ServiceError`. */
  async function exchange(sent: HttpRequest, signal: AbortSignal | undefined): Promise<HttpResponse> {
    const { operation, method, path, headers, body, answerMs = limits.answerMs, maySend } = sent;
    const cut = new AbortController();
    let clock: NodeJS.Timeout | undefined;
    let isSent = false;
    let isLate = false;
    let isStalled = false;
    let status: number | undefined;
    const onAbort = (): void => cut.abort();
    const onSending = (): boolean => {
      // The pool may retry on a broken connection, but a request must never be written twice.
      if (isSent) return false;
      isStalled = maySend?.() === false;
      if (isStalled) return false;
      isSent = true;
      // Starts here: the wait for a connection isn't the service's time.
      clock = setTimeout(() => {
        isLate = true;
        cut.abort();
      }, answerMs);
      return true;
    };
    if (signal?.aborted) throw abortedError(operation, 'none', signal.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const options: WatchedOptions = {
        origin,
        method,
        path,
        headers: { 'accept-encoding': 'gzip', ...headers },
        body: body ?? null,
        signal: cut.signal,
        ...(sent.answerMs !== undefined && { headersTimeout: 0, bodyTimeout: 0 }),
        onSending,
      };
      if (isClosed) throw new Error('the client is closed');
      opened ??= openAgents(origin, limits);
      const { shared, separate } = await opened;
      const answer = await (sent.ownConnection ? separate : shared).request(options);
      status = answer.statusCode;
      const header = (name: string): string | undefined => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      const raw = await collect(answer.body, limits.bodyBytes);
      return { status, header, body: await decode(raw, header('content-encoding') ?? '', limits.bodyBytes) };
    } catch (error) {
      if (signal?.aborted) throw abortedError(operation, isSent ? 'unknown' : 'none', signal.reason);
      if (isStalled && !isSent) {
        throw new ServiceError('stalled', undefined, { operation, effect: 'none' });
      }
      const late = isLate ? answerMs : undefined;
      throw failure(error, { operation, status, isSent, lateAfterMs: late });
    } finally {
      clearTimeout(clock);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    exchange,
    async close(): Promise<void> {
      isClosed = true;
      await (await opened)?.close();
    },
  };
}

interface Agents {
  /** Keeps connections open. */
  readonly shared: Dispatcher;
  /** Opens a connection for each request. */
  readonly separate: Dispatcher;
  close(): Promise<void>;
}

async function openAgents(origin: string, limits: Limits): Promise<Agents> {
  const options: Agent.Options = {
    connections: limits.connections,
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.answerMs,
    // HTTP/2 would change the meaning of the connection limit and the timeouts.
    allowH2: false,
  };
  const keepAlive = await openAgent(origin, options);
  const oneRequest = await openAgent(origin, { ...options, pipelining: 0 });
  return {
    shared: keepAlive.compose(watchSending),
    separate: oneRequest.compose(watchSending),
    async close() {
      await Promise.all([keepAlive.close(), oneRequest.close()]);
    },
  };
}

/** Calls `onSending` once the connection is ready and the request is about to be written. Nothing was sent before. */
function watchSending(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        const isAllowed = (options as WatchedOptions).onSending();
        handler.onRequestStart?.(controller, context);
        if (!isAllowed) controller.abort(new Error('the request must not be written, or not twice'));
      },
      onRequestUpgrade: (...event) => handler.onRequestUpgrade?.(...event),
      onResponseStart: (...event) => handler.onResponseStart?.(...event),
      onResponseData: (...event) => handler.onResponseData?.(...event),
      onResponseEnd: (...event) => handler.onResponseEnd?.(...event),
      onResponseError: (...event) => handler.onResponseError?.(...event),
    });
}

type Body = Dispatcher.ResponseData['body'];

/** The body exceeds the limit, as sent or decoded. */
class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The body's encoding is unknown, or decoding fails. */
class BodyUndecodable extends Error {
  override readonly name = 'BodyUndecodable';
}

const gunzipAll = promisify(gunzip);

/** Collects an encoded body; stops as soon as it exceeds `maxBytes`. */
function collect(body: Body, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) body.destroy(new BodyTooLarge(`more than ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    body.on('error', reject);
    body.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
  });
}

/** Limits how many bodies are decoded at a time; `maxBytes` limits each of them. */
const decoding = pLimit(2);

/** Decodes a body to text. zlib stops at `maxBytes`, so that a decompression bomb doesn't fill the memory. */
async function decode(sent: Buffer, encoding: string, maxBytes: number): Promise<string> {
  const named = encoding.trim().toLowerCase();
  if (named === '' || named === 'identity' || sent.length === 0) return sent.toString('utf8');
  if (named !== 'gzip') {
    throw new BodyUndecodable(`the encoding ${JSON.stringify(encoding.slice(0, 30))} was not asked for`);
  }
  try {
    return (await decoding(() => gunzipAll(sent, { maxOutputLength: maxBytes }))).toString('utf8');
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge) throw new BodyTooLarge(`more than ${maxBytes} bytes once decoded`);
    throw new BodyUndecodable('gzip does not decode', { cause: error });
  }
}

interface FailureContext {
  operation: string;
  status: number | undefined;
  isSent: boolean;
  /** Set when the answer wasn't complete within these milliseconds. */
  lateAfterMs: number | undefined;
}

const timeouts: Record<string, string> = {
  UND_ERR_CONNECT_TIMEOUT: 'no connection',
  UND_ERR_HEADERS_TIMEOUT: 'no answer began',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped coming',
};

/** The error for an exchange that ended without a complete answer. */
function failure(error: unknown, { operation, status, isSent, lateAfterMs }: FailureContext): ServiceError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const reason = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
  const details = { operation, status, effect: isSent ? 'unknown' : 'none' } as const;
  const fail = (code: ErrorCode, message: string): ServiceError =>
    new ServiceError(code, message, { ...details, cause });

  if (lateAfterMs !== undefined) return fail('timeout', `not complete after ${lateAfterMs} ms`);
  if (cause instanceof BodyTooLarge) return fail('too_large', cause.message);
  if (cause instanceof BodyUndecodable) return fail('unreadable', cause.message);
  const timeout = timeouts[reason];
  if (timeout !== undefined) return fail('timeout', timeout);
  // Not kept as the cause: the parser's error holds received bytes.
  if (cause.name === 'HTTPParserError') return new ServiceError('unreadable', 'it is not HTTP', details);
  if (!isSent) return fail('network', reason);
  return fail('network', `the connection broke ${status === undefined ? 'before' : 'during'} the answer: ${reason}`);
}
