/** What went wrong. Codes are stable between releases: branch on them, never on messages. */
export type ErrorCode =
  | 'network'
  | 'timeout'
  | 'server'
  | 'rate_limited'
  | 'unreadable'
  | 'too_large'
  | 'circuit_open'
  | 'account_unrecognized'
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
 * What the caller should do: repeat the call unchanged later (`retry`), replace the credential, ask for a scope or a
 * permission, treat the object as missing (`not_found`), change the request (`refused`), or first find out whether the
 * service carried out the call (`reconcile`: repeating it could do it, or bill it, twice).
 */
export type Advice = 'retry' | 'credential' | 'scope' | 'permission' | 'not_found' | 'refused' | 'reconcile';

/** Whether the call may have changed anything at the service: `none` proves that it did not. */
export type Effect = 'none' | 'unknown';

const adviceFor: Record<ErrorCode, Advice> = {
  network: 'retry',
  timeout: 'retry',
  server: 'retry',
  rate_limited: 'retry',
  unreadable: 'retry',
  too_large: 'retry',
  circuit_open: 'retry',
  account_unrecognized: 'retry',
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
  cause?: unknown;
}

/**
 * The only error of this client (section 7). It never holds the credential, an address or an answer's body; of the
 * error envelope's message it quotes at most 200 characters.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly advice: Advice;
  /** The operation's name, such as `calls.search`. */
  readonly operation: string;
  readonly effect: Effect;
  readonly status: number | undefined;
  /** The missing scope, when the service named it. */
  readonly scope: string | undefined;
  /** Milliseconds to wait before another try, when the service or the open circuit asks for it. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails) {
    super(`${details.operation}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.advice = details.advice ?? adviceFor[code];
    this.operation = details.operation;
    this.effect = details.effect;
    this.status = details.status;
    this.scope = details.scope;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether the object does not exist, or is not the account's: the service answers both in the same way. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}

export function abortedError(operation: string, effect: Effect, cause: unknown): ServiceError {
  return new ServiceError('aborted', 'the caller aborted the call', { operation, effect, cause });
}

/** Waits for work until the call is aborted, before anything was sent. */
export async function untilAborted<T>(operation: string, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const abort = Promise.withResolvers<never>();
  const onAbort = () => abort.reject(abortedError(operation, 'none', signal.reason));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, abort.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The same error with the effect or advice of the whole call in the place of its last try's. */
export function withOutcome(error: ServiceError, outcome: { effect?: Effect; advice?: Advice }): ServiceError {
  const { code, message, operation, effect, advice, status, scope, retryAfterMs, cause } = error;
  const details = { operation, effect, advice, status, scope, retryAfterMs, cause, ...outcome };
  return new ServiceError(code, message.slice(operation.length + 2), details);
}
