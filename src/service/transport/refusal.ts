import { type Refusal, readRefusal } from '../answers/envelope.ts';
import { type ErrorCode, type ErrorDetails, ServiceError } from '../errors.ts';
import type { Received } from './exchange.ts';
import { retryAfterMs } from './retry.ts';
import type { Operation } from './transport.ts';

const types: Record<string, ErrorCode> = {
  invalid_request: 'invalid_request',
  unsupported: 'unsupported',
  unauthenticated: 'unauthenticated',
  insufficient_scope: 'insufficient_scope',
  permission_denied: 'permission_denied',
  not_found: 'not_found',
  rate_limited: 'rate_limited',
};

const statuses: Record<number, ErrorCode> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  422: 'invalid_request',
  429: 'rate_limited',
};

/**
 * Names an answer that is not 2xx (section 7). The error's `type` decides; without the envelope the answer came from
 * something in between, so a 404 is no proof of absence and a 403 no proof of a missing permission. What section 7 lists
 * as refused had no effect; where the operation `failsClean`, nothing had that came with the whole envelope, whatever its
 * type: a 4xx is rejected, a 5xx not carried out.
 */
export function refusal(
  { name: operation, failsClean }: Pick<Operation<unknown>, 'name' | 'failsClean'>,
  answer: Received,
  credential: string,
  now: number,
): ServiceError {
  const { status } = answer;
  const envelope = readRefusal(answer.body);
  const challenge = answer.header('www-authenticate');
  const details: ErrorDetails = {
    operation,
    status,
    effect: 'unknown',
    retryAfterMs: retryAfterMs(answer.header('retry-after'), answer.header('date'), now),
  };
  if (status < 400) {
    const message = `a redirect came (${status}) and was not followed; check the base address`;
    return status >= 300 ? new ServiceError('redirect', message, details) : unexpected(details, 'an odd status came');
  }
  if (failsClean && (envelope?.isWhole || envelope?.type === 'internal_error')) details.effect = 'none';
  if (status >= 500) {
    return new ServiceError('server', said(`the service failed (${status})`, envelope, credential), details);
  }
  if (status === 429) {
    if (envelope !== undefined) details.effect = 'none';
    return new ServiceError('rate_limited', 'the service asks for a pause (429)', details);
  }
  if (envelope === undefined && (status !== 401 || challenge === undefined))
    return unexpected(details, 'an answer came without the error envelope');
  const code = (envelope && types[envelope.type]) ?? statuses[status];
  if (code === undefined) {
    const isPassing = status === 408 || status === 425;
    return unexpected(
      { ...details, advice: isPassing ? 'retry' : 'refused' },
      said('an unknown error came', envelope, credential),
    );
  }
  // A challenge alone can be something's in between, which says nothing about what the service did.
  if (envelope !== undefined || !failsClean) details.effect = 'none';
  if (code === 'insufficient_scope' || code === 'unauthenticated')
    details.scope = envelope?.scope ?? scopeOf(challenge);
  const message = said(`refused with ${code} (${status})`, envelope, credential);
  return new ServiceError(code, message, details);
}

function unexpected(details: ErrorDetails, message: string): ServiceError {
  return new ServiceError('unexpected_status', `${message} (${details.status})`, details);
}

function scopeOf(challenge: string | undefined): string | undefined {
  const match = /\bscope\s*=\s*(?:"([^"]{1,200})"|([^\s,"]{1,200}))/i.exec(challenge ?? '');
  return match?.[1] ?? match?.[2];
}

/** Adds the envelope's message: short, on one line, and without the credential, an address or a number it may repeat. */
function said(message: string, envelope: Refusal | undefined, credential: string): string {
  if (envelope === undefined || envelope.message === '') return message;
  const token = credential.replace(/^\S+\s+/, '');
  const quoted = envelope.message
    .replaceAll(token === '' ? credential : token, '[credential]')
    .replaceAll(/[a-z][a-z+.-]{0,20}:\/\/\S+/gi, '[address]')
    .replaceAll(/(?<![\d.])\+?\d{7,15}(?![\d.])/g, '[number]')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .slice(0, 200);
  return `${message}: ${quoted}`;
}
