import { readRefusal } from '../answers/envelope.ts';
import { type ErrorCode, type ErrorDetails, ServiceError } from '../errors.ts';
import type { Received } from '../transport/exchange.ts';
import { retryAfterMs } from '../transport/retry.ts';
import { isFields, type Step } from './answers.ts';

/** Words of RFC 6749 and RFC 7591; the cure of the first three is another login. */
const words: Record<string, ErrorCode> = {
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

export function codeOfWord(word: string): ErrorCode {
  return words[word] ?? 'invalid_request';
}

interface Refused {
  operation: string;
  step: Step;
  /** What was sent and must not be repeated. */
  secrets: readonly string[];
}

/**
 * Names an answer of an OAuth endpoint that is not 2xx. Both forms of an error are read: that of RFC 6749, and the
 * envelope of section 7. A refusal in either had no effect; anything else proves nothing, but where only a document was
 * asked for.
 */
export function oauthRefusal({ operation, step, secrets }: Refused, answer: Received, now: number): ServiceError {
  const { status } = answer;
  const said = readWords(answer.body);
  const details: ErrorDetails = {
    operation,
    status,
    effect: step === 'discovery' ? 'none' : 'unknown',
    retryAfterMs: retryAfterMs(answer.header('retry-after'), answer.header('date'), now),
  };
  if (status >= 300 && status < 400) {
    const message = `the ${step} endpoint redirects (${status}), which was not followed; check the base address`;
    return new ServiceError('redirect', message, details);
  }
  if (status >= 500) return new ServiceError('server', `the ${step} endpoint failed (${status})`, details);
  if (status < 400 || said === undefined) {
    return new ServiceError('unexpected_status', `the ${step} endpoint answered oddly (${status})`, details);
  }
  const code =
    status === 429 ? 'rate_limited' : said.isEnvelope ? codeOfEnvelope(step, said.word) : codeOfWord(said.word);
  const message = `refused with ${said.word} (${status})${quoted(said.message, secrets)}`;
  return new ServiceError(code, message, { ...details, effect: code === 'server' ? details.effect : 'none' });
}

/** The envelope has no word for a code or a token that is not taken any more: at the token endpoint, 400 says so (5.3). */
function codeOfEnvelope(step: Step, type: string): ErrorCode {
  if (step === 'token' && ['invalid_request', 'unauthenticated', 'not_found'].includes(type)) return 'unauthenticated';
  return envelopeCodes[type] ?? 'invalid_request';
}

const envelopeCodes: Record<string, ErrorCode> = {
  unauthenticated: 'unauthenticated',
  insufficient_scope: 'insufficient_scope',
  permission_denied: 'permission_denied',
  not_found: 'not_found',
  internal_error: 'server',
};

function readWords(body: string): { word: string; message: string; isEnvelope: boolean } | undefined {
  const envelope = readRefusal(body);
  if (envelope !== undefined) return { word: shown(envelope.type), message: envelope.message, isEnvelope: true };
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isFields(fields) || typeof fields.error !== 'string') return undefined;
  const { error_description: description } = fields;
  return { word: shown(fields.error), message: typeof description === 'string' ? description : '', isEnvelope: false };
}

/** A word of an error that came from outside, if it looks like one. */
export function shown(word: string): string {
  return /^[a-z_]{1,60}$/.test(word) ? word : 'an unknown error';
}

/** What the service says, on one line, short, and without a secret or an address that it may repeat. */
function quoted(message: string, secrets: readonly string[]): string {
  if (message === '') return '';
  const text = secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), message)
    .replaceAll(/[a-z][a-z+.-]{0,20}:\/\/\S+/gi, '[address]')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .slice(0, 200);
  return `: ${text}`;
}
