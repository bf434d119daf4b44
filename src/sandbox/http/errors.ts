import type { Scope } from '../account.ts';

/** Section 7. */
type ErrorType =
  | 'invalid_request'
  | 'unsupported'
  | 'unauthenticated'
  | 'insufficient_scope'
  | 'permission_denied'
  | 'not_found'
  | 'rate_limited'
  | 'internal_error';

/** An error that is answered with this status and the envelope of section 7. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  /** What to request, with `insufficient_scope`. */
  readonly scope: Scope | undefined;
  /** The WWW-Authenticate header. */
  readonly challenge: string | undefined;

  constructor(
    status: number,
    type: ErrorType,
    message: string,
    { scope, challenge }: { scope?: Scope; challenge?: string } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.type = type;
    this.scope = scope;
    this.challenge = challenge;
  }
}

export function invalidRequest(message: string): ApiError {
  return new ApiError(400, 'invalid_request', message);
}

export function notFound(what: string): ApiError {
  return new ApiError(404, 'not_found', `${what} does not exist on this account`);
}

export function permissionDenied(message: string): ApiError {
  return new ApiError(403, 'permission_denied', message);
}

const typesByStatus: Record<number, ErrorType> = {
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  429: 'rate_limited',
};

/** The error type of a status (section 7), for errors that no route throws. */
export function typeOfStatus(status: number): ErrorType {
  return typesByStatus[status] ?? (status >= 500 ? 'internal_error' : 'invalid_request');
}

/** The envelope of section 7. */
export function errorEnvelope(type: ErrorType, message: string, scope?: Scope) {
  return { error: scope === undefined ? { type, message } : { type, message, scope } };
}
