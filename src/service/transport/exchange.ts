import { Agent, type Dispatcher } from 'undici';
import { ServiceError } from '../errors.ts';
import { acceptedEncodings, collect, decode } from './body.ts';
import { failure } from './failure.ts';

/** Limits of one exchange; times in milliseconds. */
export interface Limits {
  /** To a connection that is ready to use. Default 5,000. */
  connectMs: number;
  /** From the request to the answer's headers. Default 10,000. */
  headersMs: number;
  /** From the first byte sent to the last byte read. Default 20,000. */
  answerMs: number;
  /** Bytes of a body, as sent and once decoded. Default 32 MiB. */
  bodyBytes: number;
  /** Connections at a time. Default 64. */
  connections: number;
}

export const defaultLimits: Limits = {
  connectMs: 5_000,
  headersMs: 10_000,
  answerMs: 20_000,
  bodyBytes: 32 * 1024 * 1024,
  connections: 64,
};

export interface Sent {
  operation: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** Milliseconds for the whole answer, instead of `headersMs` and `answerMs`. */
  answerMs?: number | undefined;
  /** Asked right before the first byte; on false nothing leaves. */
  mayLeave?: (() => boolean) | undefined;
  /** A connection of its own: an idle one that the service is just closing would leave the effect in doubt. */
  isAlone?: boolean;
}

export interface Received {
  status: number;
  header(name: string): string | undefined;
  body: string;
}

export interface Exchanger {
  /** One request, one answer, whatever its status: no retry and no redirect. Throws `ServiceError`. */
  exchange(sent: Sent, signal: AbortSignal | undefined): Promise<Received>;
  close(): Promise<void>;
}

interface WatchedOptions extends Dispatcher.RequestOptions {
  /** Whether the request may be written. */
  onSending: () => boolean;
}

export function createExchanger(origin: string, limits: Limits): Exchanger {
  const options: Agent.Options = {
    connections: limits.connections,
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.answerMs,
    // One protocol, so that connections and timeouts mean one thing.
    allowH2: false,
  };
  const sharing = new Agent(options);
  const lonely = new Agent({ ...options, pipelining: 0 });
  const [shared, alone] = [sharing.compose(watchSending), lonely.compose(watchSending)];

  async function exchange(sent: Sent, signal: AbortSignal | undefined): Promise<Received> {
    const { operation, method, path, headers, body, answerMs = limits.answerMs, mayLeave } = sent;
    const cut = new AbortController();
    let clock: NodeJS.Timeout | undefined;
    let isSent = false;
    let isLate = false;
    let isStalled = false;
    let status: number | undefined;
    const onAbort = (): void => cut.abort();
    const onSending = (): boolean => {
      // Whatever the connection pool makes of a broken connection: no request is written twice.
      if (isSent) return false;
      isStalled = mayLeave?.() === false;
      if (isStalled) return false;
      isSent = true;
      // Time in the queue for a connection is ours, not the service's.
      clock = setTimeout(() => {
        isLate = true;
        cut.abort();
      }, answerMs);
      return true;
    };
    if (signal?.aborted) throw aborted(operation, signal, false);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const options: WatchedOptions = {
        origin,
        method,
        path,
        headers: { 'accept-encoding': acceptedEncodings, ...headers },
        body: body ?? null,
        signal: cut.signal,
        ...(sent.answerMs !== undefined && { headersTimeout: 0, bodyTimeout: 0 }),
        onSending,
      };
      const answer = await (sent.isAlone ? alone : shared).request(options);
      status = answer.statusCode;
      const header = (name: string): string | undefined => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      const raw = await collect(answer.body, limits.bodyBytes);
      return { status, header, body: await decode(raw, header('content-encoding') ?? '', limits.bodyBytes) };
    } catch (error) {
      if (signal?.aborted) throw aborted(operation, signal, isSent);
      if (isStalled && !isSent) {
        throw new ServiceError('stalled', 'it was too late to let it leave', { operation, effect: 'none' });
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
    async close() {
      await Promise.all([sharing.close(), lonely.close()]);
    },
  };
}

function aborted(operation: string, signal: AbortSignal, isSent: boolean): ServiceError {
  const effect = isSent ? 'unknown' : 'none';
  return new ServiceError('aborted', 'the caller gave up', { operation, effect, cause: signal.reason });
}

/** Tells `onSending` when a connection stands and the request is about to be written: before that, nothing has left. */
function watchSending(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        const isAllowed = (options as WatchedOptions).onSending();
        handler.onRequestStart?.(controller, context);
        if (!isAllowed) controller.abort(new Error('it must not be written, or not twice'));
      },
      onRequestUpgrade: (...event) => handler.onRequestUpgrade?.(...event),
      onResponseStart: (...event) => handler.onResponseStart?.(...event),
      onResponseData: (...event) => handler.onResponseData?.(...event),
      onResponseEnd: (...event) => handler.onResponseEnd?.(...event),
      onResponseError: (...event) => handler.onResponseError?.(...event),
    });
}
