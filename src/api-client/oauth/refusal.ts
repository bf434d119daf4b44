import { readRefusal } from '../answers/envelope.ts';
import { isObject } from '../answers/values.ts';
import { type ErrorCode, type ErrorDetails, ServiceError } from '../errors.ts';
import type { HttpResponse } from '../transport/exchange.ts';
import { quoted, retryAfterMs } from '../transport/refusal.ts';

/** The OAuth endpoints that answer JSON (section 5.3). */
export type Endpoint = 'discovery' | 'registration' | 'token';

/** Error codes of RFC 6749 and RFC 7591. The first three need another login. */
const codes: Record<string, ErrorCode> = {
  invalid_grant: 'unauthenticated',
  invalid_client: 'unauthenticated',
  unauthorized_client: 'unauthenticated',
  invalid_scope: 'insufficient_scope',
  access_denied: 'permission_denied',
  invalid_request: 'invalid_request',
  invalid_redirect_uri: 'invalid_request',
  invalid_client_metadata: 'invalid_request',
  unsupported_response_type: 'unsupported',
  unsupported_grant_type: 'unsupported',
  server_error: 'server',
  temporarily_unavailable: 'server',
};

function codeOfError(word: string): ErrorCode {
  return codes[word] ?? 'invalid_request';
}

/**
 * The error for an answer of an OAuth endpoint that is not 2xx, in the form of RFC 6749 or the envelope of section 7. A
 * refusal in either form had no effect. Any other answer proves nothing, except at discovery, which has no effect
 * anyway. `secrets` were sent, and are removed from the message.
 */
export function oauthRefusal(
  { operation, endpoint, secrets }: { operation: string; endpoint: Endpoint; secrets: readonly string[] },
  answer: HttpResponse,
  now: number,
): ServiceError {
  const { status } = answer;
  const refusal = readRefusalBody(answer.body);
  const details: ErrorDetails = {
    operation,
    status,
    effect: endpoint === 'discovery' ? 'none' : 'unknown',
    retryAfterMs: retryAfterMs(answer.header('retry-after'), answer.header('date'), now),
  };
  if (status >= 300 && status < 400) {
    const message = `the ${endpoint} endpoint redirects (${status}), which is not followed; check the base address`;
    return new ServiceError('redirect', message, details);
  }
  if (status >= 500) return new ServiceError('server', `the ${endpoint} endpoint failed (${status})`, details);
  if (status < 400 || refusal === undefined) {
    return new ServiceError('unexpected_status', `unexpected answer of the ${endpoint} endpoint (${status})`, details);
  }
  const code =
    status === 429
      ? 'rate_limited'
      : refusal.isEnvelope
        ? codeOfEnvelope(endpoint, refusal.word)
        : codeOfError(refusal.word);
  const message = `refused with ${refusal.word} (${status})${quoted(refusal.message, secrets)}`;
  return new ServiceError(code, message, { ...details, effect: code === 'server' ? details.effect : 'none' });
}

/** The envelope has no type for an expired code or token: the token endpoint answers them with 400 (section 5.3). */
function codeOfEnvelope(endpoint: Endpoint, type: string): ErrorCode {
  if (endpoint === 'token' && ['invalid_request', 'unauthenticated', 'not_found'].includes(type))
    return 'unauthenticated';
  return envelopeCodes[type] ?? 'invalid_request';
}

const envelopeCodes: Record<string, ErrorCode> = {
  unauthenticated: 'unauthenticated',
  insufficient_scope: 'insufficient_scope',
  permission_denied: 'permission_denied',
  not_found: 'not_found',
  internal_error: 'server',
};

function readRefusalBody(body: string): { word: string; message: string; isEnvelope: boolean } | undefined {
  const envelope = readRefusal(body);
  if (envelope !== undefined)
    return { word: loggableError(envelope.type), message: envelope.message, isEnvelope: true };
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isObject(fields) || typeof fields.error !== 'string') return undefined;
  const { error_description: description } = fields;
  return {
    word: loggableError(fields.error),
    message: typeof description === 'string' ? description : '',
    isEnvelope: false,
  };
}

/** An error code from outside, when it looks like one: it may be logged. */
function loggableError(word: string): string {
  return /^[a-z_]{1,60}$/.test(word) ? word : 'an unknown error';
}

/**
 * Reads the callback (section 5.3). Returns the registered address with the callback's parameters, because a receiver
 * behind a proxy does not know its full address. Throws `ServiceError` with effect `none` when the callback belongs to
 * another login, is a denial, or has no code.
 */
export function readCallback(callbackUrl: string, expected: { state: string; redirectUri: string }): URL {
  const refuse = (code: ServiceError['code'], message: string) =>
    new ServiceError(code, message, { operation: 'oauth.complete', effect: 'none' });
  const { redirectUri, state } = expected;
  if (!URL.canParse(callbackUrl, redirectUri)) throw refuse('invalid_request', 'the callback is not a valid address');
  const parameters = new URL(callbackUrl, redirectUri).searchParams;

  if (parameters.get('state') !== state) {
    throw refuse('invalid_request', 'the state is not that of this login: start again, and do not follow older links');
  }
  const error = parameters.get('error');
  if (error === 'access_denied') throw refuse('permission_denied', 'the user denied access (access_denied)');
  if (error !== null) throw refuse(codeOfError(error), `the service refused the login (${loggableError(error)})`);
  const code = parameters.get('code');
  if (code === null || code === '') throw refuse('invalid_request', 'the callback has no code');

  const url = new URL(redirectUri);
  for (const [key, value] of Object.entries({ code, state, iss: parameters.get('iss') })) {
    if (value !== null) url.searchParams.set(key, value);
  }
  return url;
}
