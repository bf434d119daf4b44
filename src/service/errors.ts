/** What went wrong, in words that stay the same between releases: branch on these, never on messages. */
export type ErrorCode =
  | 'network'
  | 'timeout'
  | 'server'
  | 'rate_limited'
  | 'unreadable'
  | 'too_large'
  | 'circuit_open'
  | 'unauthenticated'
  | 'insufficient_scope'
  | 'permission_denied'
  | 'not_found'
  | 'invalid_request'
  | 'unsupported'
  | 'redirect'
  | 'unexpected_status'
  | 'aborted'
  | 'stalled';

/**
 * What the caller should do: try again later unchanged (`retry`), see to the credential, ask for a scope or a
 * permission, take the object as not there (`not_found`), change the request (`refused`), or find out at the service
 * whether the call was carried out before doing anything else (`reconcile`: repeating it could do it, or pay for it, twice).
 */
export type Advice = 'retry' | 'credential' | 'scope' | 'permission' | 'not_found' | 'refused' | 'reconcile';

/** Whether the call can have changed anything at the service: `none` is proof, `unknown` is not. */
export type Effect = 'none' | 'unknown';

const adviceFor: Record<ErrorCode, Advice> = {
  network: 'retry',
  timeout: 'retry',
  server: 'retry',
  rate_limited: 'retry',
  unreadable: 'retry',
  too_large: 'retry',
  circuit_open: 'retry',
  unauthenticated: 'credential',
  insufficient_scope: 'scope',
  permission_denied: 'permission',
  not_found: 'not_found',
  invalid_request: 'refused',
  unsupported: 'refused',
  redirect: 'retry',
  unexpected_status: 'retry',
  aborted: 'retry',
  stalled: 'retry',
};

export interface ErrorDetails {
  operation: string;
  effect: Effect;
  advice?: Advice | undefined;
  status?: number | undefined;
  scope?: string | undefined;
  retryAfterMs?: number | undefined;
  isPage?: boolean;
  cause?: unknown;
}

/**
 * The one error of this client (section 7). It never carries the credential, an address, or an answer's body; of what
 * the service said it holds at most the first 200 characters of the error envelope's message.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly advice: Advice;
  /** The operation's name, such as `calls.search`. */
  readonly operation: string;
  readonly effect: Effect;
  readonly status: number | undefined;
  /** The scope to ask for, when the service named one. */
  readonly scope: string | undefined;
  /** Milliseconds to wait before another try, when the service or the open circuit said so. */
  readonly retryAfterMs: number | undefined;
  /** Of `unreadable`: a page of HTML or XML came as a success, which may be something in between, and not the service. */
  readonly isPage: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails) {
    super(`${details.operation}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.advice = details.advice ?? adviceFor[code];
    this.operation = details.operation;
    this.effect = details.effect;
    this.status = details.status;
    this.scope = details.scope;
    this.retryAfterMs = details.retryAfterMs;
    this.isPage = details.isPage ?? false;
  }
}

/** Whether the service said that there is no such thing; what is not the account's is answered in the same way. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}

/** The same error with another effect or advice, which the call as a whole decides and not its last try. */
export function withVerdict(error: ServiceError, verdict: { effect?: Effect; advice?: Advice }): ServiceError {
  const { code, message, operation, effect, advice, status, scope, retryAfterMs, isPage, cause } = error;
  const details = { operation, effect, advice, status, scope, retryAfterMs, isPage, cause, ...verdict };
  return new ServiceError(code, message.slice(operation.length + 2), details);
}
