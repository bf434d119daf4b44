import { type ErrorCode, ServiceError } from '../errors.ts';
import { BodyTooLarge, BodyUndecodable } from './body.ts';

interface Circumstances {
  operation: string;
  status: number | undefined;
  isSent: boolean;
  /** Set when the whole answer took longer than these milliseconds. */
  lateAfterMs: number | undefined;
}

const timeouts: Record<string, string> = {
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer began in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped coming',
};

/** Names what kept an exchange from ending with a whole answer. */
export function failure(error: unknown, { operation, status, isSent, lateAfterMs }: Circumstances): ServiceError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const reason = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
  const details = { operation, status, effect: isSent ? 'unknown' : 'none' } as const;
  const fail = (code: ErrorCode, message: string): ServiceError =>
    new ServiceError(code, message, { ...details, cause });

  if (lateAfterMs !== undefined) return fail('timeout', `the answer was not complete after ${lateAfterMs} ms`);
  if (cause instanceof BodyTooLarge) return fail('too_large', `the answer is too large: ${cause.message}`);
  if (cause instanceof BodyUndecodable) return fail('unreadable', `the answer cannot be decoded: ${cause.message}`);
  const timeout = timeouts[reason];
  if (timeout !== undefined) return fail('timeout', timeout);
  // The parser's error holds the bytes that came, so it is not kept as the cause.
  if (cause.name === 'HTTPParserError') return new ServiceError('unreadable', 'what came is not HTTP', details);
  if (!isSent) return fail('network', `the service cannot be reached (${reason})`);
  return fail('network', `the connection broke ${status === undefined ? 'before' : 'during'} the answer (${reason})`);
}
