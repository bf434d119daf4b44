import type { Read } from '../answers/envelope.ts';
import type { HttpRequest } from './exchange.ts';

/** A base address, split as undici needs it. */
export interface Base {
  origin: string;
  /** The base's own path without a trailing slash, and the prefix of the API (section 9). */
  prefix: string;
}

/** Throws when the address cannot be the base of a service. */
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

/** A path below the prefix with encoded parameters. Only `path` and the methods below make one. */
export interface Path {
  readonly text: string;
  /** Why it must not be requested: an empty or dotted parameter would address another endpoint. */
  readonly problem?: string | undefined;
}

/** Parameters are encoded; another path is inserted as it is. */
export function path(literals: TemplateStringsArray, ...parameters: readonly (string | number | Path)[]): Path {
  let text = literals[0] ?? '';
  let problem: string | undefined;
  for (const [i, parameter] of parameters.entries()) {
    const part = typeof parameter === 'object' ? parameter : segment(String(parameter));
    problem ??= part.problem;
    text += part.text + (literals[i + 1] ?? '');
  }
  return { text, problem };
}

function segment(value: string): Path {
  if (value === '') return { text: value, problem: 'a part of the path is empty' };
  if (value === '.' || value === '..') return { text: value, problem: 'a part of the path is only dots' };
  // encodeURIComponent throws on a lone surrogate, which no id of the service has.
  return { text: encodeURIComponent(value.toWellFormed()) };
}

type Method = HttpRequest['method'];

function methodOf<M extends Method>(method: M) {
  return (...template: Parameters<typeof path>) => ({ method, path: path(...template) });
}

/** Method and path of an operation, such as get`/calls/${id}`. */
export const get = methodOf('GET');
export const post = methodOf('POST');
export const put = methodOf('PUT');
export const patch = methodOf('PATCH');
export const del = methodOf('DELETE');

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The request target of a path without a problem. */
export function target(base: Base, path: Path, query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(key, String(value));
  return `${base.prefix}${path.text}${search.size === 0 ? '' : `?${search}`}`;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call: it rejects with `aborted`, and does not count as a failure of the service. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds for each complete answer, from the first byte sent, instead of `headersMs` and `answerMs` of the
   * limits.
   */
  answerMs?: number | undefined;
  /**
   * Called when the connection is ready, right before the first byte. On false nothing is sent, and the call rejects
   * with `stalled`, which does not count as a failure of the service. For requests that must not be sent late, however
   * long the credential and the connection took.
   */
  maySend?: (() => boolean) | undefined;
  /** Sent as `x-request-id`: names the cause of the request in the service's logs. */
  requestId?: string | undefined;
}

/** One operation of the API: its request, and how its `data` is read. */
export interface Operation<T> {
  /** `resource.verb`, for errors, logs and metrics. */
  name: string;
  method: Method;
  path: Path;
  query?: Query;
  body?: unknown;
  /** Why the service must refuse it: nothing is sent then, and the call rejects with `invalid_request`. */
  problem?: string | undefined;
  /** A 4xx or 5xx with the error envelope proves that nothing happened. Section 7 promises this for sends only. */
  failsClean?: true;
  /** How its `data` is read; `nothing` where 204 is documented. */
  read: Read<T>;
}
