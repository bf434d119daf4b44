import { maskNumbers } from '../../shared/masking.ts';
import { type Refusal, readRefusal } from '../answers/envelope.ts';
import { type ErrorCode, type ErrorDetails, ServiceError } from '../errors.ts';
import type { HttpResponse } from './exchange.ts';
import type { Operation } from './operation.ts';

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
 * The error for an answer that isn't 2xx (section 7). The envelope's `type` decides. Without the envelope a proxy may
 * have answered: a 404 then doesn't prove absence, nor a 403 a missing permission. Refusals that section 7 lists had no
 * effect. For a send, any error with a whole envelope proves that nothing was sent, 4xx or 5xx.
 */
export function refusal(
  { name: operation, isBilled }: Pick<Operation<unknown>, 'name' | 'isBilled'>,
  answer: HttpResponse,
  authorization: string,
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
    return new ServiceError(status >= 300 ? 'redirect' : 'unexpected_status', String(status), details);
  }
  if (isBilled && (envelope?.isWhole || envelope?.type === 'internal_error')) details.effect = 'none';
  if (status >= 500) {
    return new ServiceError('server', withMessage(status, envelope, authorization), details);
  }
  if (status === 429) {
    if (envelope !== undefined) details.effect = 'none';
    return new ServiceError('rate_limited', '429', details);
  }
  if (envelope === undefined && (status !== 401 || challenge === undefined))
    return new ServiceError('unexpected_status', `${status} without the error envelope`, details);
  const code = (envelope && types[envelope.type]) ?? statuses[status];
  if (code === undefined) {
    const isTransient = status === 408 || status === 425;
    const advice = isTransient ? 'retry' : 'refused';
    const message = withMessage(status, envelope, authorization);
    return new ServiceError('unexpected_status', message, { ...details, advice });
  }
  // A proxy can send a challenge without the envelope: it doesn't prove that a send wasn't carried out.
  if (envelope !== undefined || !isBilled) details.effect = 'none';
  if (code === 'insufficient_scope' || code === 'unauthenticated')
    details.scope = envelope?.scope ?? scopeOf(challenge);
  return new ServiceError(code, withMessage(status, envelope, authorization), details);
}

function scopeOf(challenge: string | undefined): string | undefined {
  const match = /\bscope\s*=\s*(?:"([^"]{1,200})"|([^\s,"]{1,200}))/i.exec(challenge ?? '');
  return match?.[1] ?? match?.[2];
}

function withMessage(status: number, envelope: Refusal | undefined, authorization: string): string {
  return status + quoted(envelope?.message ?? '', authorization.replace(/^\S+\s+/, ''));
}

/** A message of the service, to append to ours: at most 200 characters, without the API key, addresses and numbers. */
export function quoted(message: string, apiKey: string): string {
  if (message === '') return '';
  const text = message
    .replaceAll(apiKey, '[credential]')
    .slice(0, 2_000)
    .replaceAll(/[a-z][a-z+.-]{0,20}:\/\/\S+|\S{1,200}@\S+/gi, '[address]')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
  return `: ${maskNumbers(text).slice(0, 200)}`;
}

/**
 * Milliseconds that a `Retry-After` asks for, given in seconds or as a date. A date is compared with the answer's own
 * `Date`, so that a wrong clock on either side doesn't matter. `undefined` for an absent or invalid header.
 */
export function retryAfterMs(header: string | undefined, date: string | undefined, now: number): number | undefined {
  const asked = header?.trim();
  if (asked === undefined || asked === '') return undefined;
  if (/^\d{1,9}(\.\d{1,3})?$/.test(asked)) return Math.ceil(Number(asked) * 1000);
  const until = /^[A-Z][a-z]+,? /.test(asked) ? Date.parse(asked) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  const from = date === undefined ? Number.NaN : Date.parse(date);
  return Math.max(0, until - (Number.isNaN(from) ? now : from));
}
