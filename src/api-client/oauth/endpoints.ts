import type { CustomFetch } from 'openid-client';
import { isObject } from '../answers/values.ts';
import { type Effect, ServiceError, withOutcome } from '../errors.ts';
import {
  createExchanger,
  defaultLimits,
  type Exchanger,
  type HttpRequest,
  type HttpResponse,
  type Limits,
} from '../transport/exchange.ts';
import { type Endpoint, oauthRefusal } from './refusal.ts';

/** OAuth answers are small, and few are needed at a time. */
export const defaultOAuthLimits: Limits = { ...defaultLimits, bodyBytes: 256 * 1024, connections: 4 };

/** Connections to the hosts of the endpoints that the discovery document names. */
export function createConnections(limits: Limits) {
  const exchangers = new Map<string, Exchanger>();
  return {
    exchange(address: string, sent: Omit<HttpRequest, 'path'>): Promise<HttpResponse> {
      const { origin, pathname, search } = new URL(address);
      const exchanger = exchangers.get(origin) ?? createExchanger(origin, limits);
      exchangers.set(origin, exchanger);
      return exchanger.exchange({ ...sent, path: pathname + search }, undefined);
    },
    async close(): Promise<void> {
      await Promise.all([...exchangers.values()].map((exchanger) => exchanger.close()));
      exchangers.clear();
    },
  };
}

export type OAuthOperation = ReturnType<typeof createOAuthOperation>;

interface OperationContext {
  operation: string;
  connections: ReturnType<typeof createConnections>;
  /** The base address without a trailing slash. */
  base: string;
  now: () => number;
  /** As registered: the library would send it without its query. */
  redirectUri?: string | undefined;
}

/** One operation of the library, which requests the discovery document and then one other endpoint. */
export function createOAuthOperation({ operation, connections, base, now, redirectUri }: OperationContext) {
  let effect: Effect = 'none';

  function toResponse(endpoint: Endpoint, { body, status }: HttpResponse): Response {
    try {
      const fields = readEndpointBody(endpoint, body, { issuer: base, allowsHttp: base.startsWith('http:') });
      const headers = { 'content-type': 'application/json' };
      return new Response(JSON.stringify(fields), { status: endpoint === 'registration' ? 201 : 200, headers });
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error;
      const message = `the answer of the ${endpoint} endpoint cannot be used: ${error.message}`;
      throw new ServiceError('unreadable', message, { operation, status, effect });
    }
  }

  /**
   * The library's `fetch`: applies our limits, follows no redirect, and gives answers the form that the library
   * requires.
   */
  const fetch: CustomFetch = async (address, options) => {
    const form = options.body instanceof URLSearchParams ? options.body : undefined;
    const endpoint: Endpoint = options.method === 'GET' ? 'discovery' : form ? 'token' : 'registration';
    if (redirectUri !== undefined && form?.has('redirect_uri')) form.set('redirect_uri', redirectUri);
    const isDiscovery = endpoint === 'discovery';
    const answer = await connections
      .exchange(address, {
        operation,
        method: isDiscovery ? 'GET' : 'POST',
        headers: options.headers,
        body: form?.toString() ?? (typeof options.body === 'string' ? options.body : undefined),
        ownConnection: !isDiscovery,
      })
      .catch((error: unknown) => {
        throw isDiscovery && error instanceof ServiceError ? withOutcome(error, { effect: 'none' }) : error;
      });
    if (answer.status < 200 || answer.status > 299) {
      throw oauthRefusal({ operation, endpoint, secrets: secretsOf(form) }, answer, now());
    }
    if (!isDiscovery) effect = 'unknown';
    return toResponse(endpoint, answer);
  };

  return {
    fetch,
    /** The library's error as a `ServiceError`, without its cause: the library's errors hold whole answers. */
    toServiceError(error: unknown): ServiceError {
      const cause = findServiceError(error);
      if (cause !== undefined) return cause;
      const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no code';
      if (code === 'OAUTH_MISSING_SERVER_METADATA') {
        const message = 'the discovery document names no endpoint for this operation';
        return new ServiceError('unsupported', message, { operation, effect });
      }
      return new ServiceError('unreadable', `the answer does not conform to OAuth (${code})`, { operation, effect });
    },
  };
}

function secretsOf(form: URLSearchParams | undefined): string[] {
  return ['code', 'code_verifier', 'refresh_token'].flatMap((key) => form?.getAll(key) ?? []);
}

/** The library wraps the errors of `fetch`. */
function findServiceError(error: unknown): ServiceError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ServiceError) return at;
  return undefined;
}

/** The answer cannot be used. The message quotes nothing of it. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

type Fields = Record<string, unknown>;

interface Expected {
  /** The base address, used when the document has no issuer. */
  issuer: string;
  /** Whether endpoints without TLS are accepted: only where the base address has none. */
  allowsHttp: boolean;
}

/**
 * Reads the body of a successful answer, and completes it to what OAuth libraries require. The specification allows
 * less: with or without the `data` envelope, discovery without `issuer`, tokens without `token_type`. Throws
 * `UnusableAnswer`.
 */
export function readEndpointBody(endpoint: Endpoint, body: string, expected: Expected): Fields {
  const answer = parse(body);
  const fields = isObject(answer.data) ? answer.data : answer;
  switch (endpoint) {
    case 'discovery':
      return discovery(fields, expected);
    case 'registration':
      return registration(fields);
    case 'token':
      return tokens(fields);
  }
}

function discovery(fields: Fields, { issuer, allowsHttp }: Expected): Fields {
  for (const key of ['authorization_endpoint', 'token_endpoint']) requireAddress(fields, key, allowsHttp);
  if (fields.registration_endpoint !== undefined) requireAddress(fields, 'registration_endpoint', allowsHttp);
  return { ...fields, issuer: typeof fields.issuer === 'string' ? fields.issuer : issuer };
}

function requireAddress(fields: Fields, key: string, allowsHttp: boolean): void {
  const address = fields[key];
  if (typeof address !== 'string' || !URL.canParse(address)) throw new UnusableAnswer(`${key} is not an address`);
  const { protocol } = new URL(address);
  if (protocol !== 'https:' && !(allowsHttp && protocol === 'http:')) throw new UnusableAnswer(`${key} is not HTTPS`);
}

/** Drops a secret, which a public client does not have. */
function registration({ client_secret: _, client_secret_expires_at: __, ...fields }: Fields): Fields {
  const id = fields.client_id;
  if ((typeof id !== 'string' || id === '') && typeof id !== 'number') throw new UnusableAnswer('client_id is missing');
  return { ...fields, client_id: String(id) };
}

/** Drops an `id_token`, which was not requested. */
function tokens({ id_token: _, ...fields }: Fields): Fields {
  if (typeof fields.access_token !== 'string' || fields.access_token === '') {
    throw new UnusableAnswer('access_token is missing');
  }
  if (!/^[\x21-\x7e]+$/.test(fields.access_token)) throw new UnusableAnswer('access_token does not fit a header');
  const { token_type: type = 'Bearer', expires_in: seconds, refresh_token: refresh, scope } = fields;
  if (String(type).toLowerCase() !== 'bearer') throw new UnusableAnswer('token_type is not Bearer');
  return {
    access_token: fields.access_token,
    token_type: type,
    ...(Number(seconds) > 0 && { expires_in: Number(seconds) }),
    ...(typeof refresh === 'string' && refresh !== '' && { refresh_token: refresh }),
    ...(typeof scope === 'string' && { scope }),
  };
}

function parse(body: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // Not kept as the cause: the parser's error quotes the body, which may hold a token.
    throw new UnusableAnswer(`it is ${body.trimStart().startsWith('<') ? 'a page of HTML' : 'not JSON'}`);
  }
  if (!isObject(value)) throw new UnusableAnswer('it is JSON, but not an object');
  return value;
}
