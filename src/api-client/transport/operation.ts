import type { Read } from '../answers/envelope.ts';
import type { HttpRequest } from './exchange.ts';

/** A base address, split as undici needs it. */
export interface Base {
  origin: string;
  /** The base's own path without a trailing slash, and the prefix of the API (section 9). */
  prefix: string;
}

/** Throws when the address can't be the base of a service. */
export function parseBase(baseUrl: string): Base {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isBase = url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
  if (!isBase) {
    throw new TypeError(
      'The base address should look like https://host or https://host/path, without user, query or #.',
    );
  }
  return { origin: url.origin, prefix: `${url.pathname.replace(/\/+$/, '')}/api/public/v1` };
}

/** The request target of an operation. */
export function target(base: Base, { path, query = {} }: Operation<unknown>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
  return `${base.prefix}${path}${search.size === 0 ? '' : `?${search}`}`;
}

/** Fills in encoded parameters. Undefined if one is empty or only dots: it would address another endpoint. */
export function fillPath(template: string, parameters: Readonly<Record<string, ObjectId>>): string | undefined {
  const values = Object.values(parameters).map(String);
  if (values.some((value) => value === '' || value === '.' || value === '..')) return undefined;
  // encodeURIComponent throws on a lone surrogate, which no id of the service has.
  return template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name]).toWellFormed()));
}

/** An id as the service gave it: an integer, or its digits as text beyond what a double holds exactly. */
export type ObjectId = number | string;

/** An id in the form that answers have, from its digits. */
export function objectId(digits: string): ObjectId {
  const read = Number(digits);
  return Number.isSafeInteger(read) ? read : digits;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call: it rejects with `aborted`, and doesn't count as a failure of the service. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds for each complete answer, from the first byte sent; replaces `headersMs` and `answerMs` of the limits.
   */
  answerMs?: number | undefined;
  /**
   * Called when the connection is ready, right before the first byte. On false nothing is sent, and the call rejects
   * with `stalled`, which doesn't count as a failure of the service. For requests that must not be sent late, however
   * long the connection took.
   */
  maySend?: (() => boolean) | undefined;
  /** Sent as `x-request-id`: names the cause of the request in the service's logs. */
  requestId?: string | undefined;
}

/** One request of an operation, and how its `data` is read. */
export interface Operation<T> {
  /** `resource.verb`, for errors, logs and metrics. */
  name: string;
  method: HttpRequest['method'];
  /** Below the prefix, with its parameters. */
  path: string;
  query?: Query | undefined;
  body?: unknown;
  /** Why the request can't be sent: the call rejects with `invalid_request`. */
  problem?: string | undefined;
  /** A send: it costs money, and a 4xx or 5xx with the error envelope proves that nothing happened (section 7). */
  isBilled: boolean;
  /** How its `data` is read; `nothing` where 204 is documented. */
  read: Read<T>;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;
