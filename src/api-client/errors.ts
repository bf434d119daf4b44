import { toType } from '../shared/command-name.ts';

/**
 * What the caller should do: repeat the call unchanged later (`retry`), replace the credential, ask for a scope or a
 * permission, treat the object as missing (`not_found`), change the request (`refused`), or first find out whether the
 * service carried out the call (`reconcile`: repeating it could do it, or bill it, twice).
 */
export type Advice = 'retry' | 'credential' | 'scope' | 'permission' | 'not_found' | 'refused' | 'reconcile';

/** Whether the call may have changed anything at the service: `none` proves that it did not. */
export type Effect = 'none' | 'unknown';

/** A fault and its remedy. All words are ours, so they may be shown anywhere. */
interface Meaning {
  readonly sentence: string;
  readonly remedy: string;
}

const reach =
  'Check that API_BASE_URL is right and reachable from here. If it is, wait: what is due is asked again. If this lasts, ask the service’s operator.';
const wait = 'Wait: what is due is asked again. If this lasts, ask the service’s operator.';

const meanings = {
  network: ['retry', 'The service can’t be reached.', reach],
  timeout: ['retry', 'The service doesn’t answer in time.', reach],
  server: ['retry', 'The service fails.', wait],
  rate_limited: ['retry', 'The service takes no more requests for now.', wait],
  unreadable: ['retry', 'The service’s answer can’t be read.', reach],
  too_large: ['retry', 'The service’s answer is too large.', reach],
  circuit_open: ['retry', 'The service isn’t asked for a while, because earlier requests failed.', reach],
  account_unrecognized: [
    'retry',
    'The account isn’t recognized, so nothing is read, proven or sent.',
    `Set API_BASE_URL and API_KEY to those of the mirrored account. To mirror another account, use another database. If this is the right account and only its data was replaced, run ${toType('account accept')}.`,
  ],
  unauthenticated: [
    'credential',
    'The service refuses the API key.',
    'Set API_KEY to a key that is valid and not revoked, in every process.',
  ],
  insufficient_scope: ['scope', 'The API key lacks a scope.', 'Grant it to the API key.'],
  permission_denied: [
    'permission',
    'The API key may not do this.',
    'Allow it in the portal of the service. To text, the line must be the account’s own and enabled for SMS.',
  ],
  not_found: ['not_found', 'The account has no such object.', 'Check that it wasn’t deleted.'],
  invalid_request: [
    'refused',
    'The service doesn’t accept the request.',
    'Correct what its message names. Of a text: where there is no rate for the destination, have it enabled at the service, or exclude such numbers from the rule.',
  ],
  unsupported: ['refused', 'The service doesn’t support this.', 'Ask the service’s operator.'],
  redirect: [
    'retry',
    'The service redirects requests, which Trunkline doesn’t follow.',
    'Set API_BASE_URL to the service itself.',
  ],
  unexpected_status: [
    'retry',
    'The service doesn’t answer as specified.',
    'Check that API_BASE_URL is the service itself, without a proxy that answers for it.',
  ],
  aborted: ['retry', 'The process stopped before the service answered.', 'Try again.'],
  stalled: ['retry', 'It was too late to ask the service.', 'Try again.'],
} satisfies Record<string, readonly [advice: Advice, sentence: string, remedy: string]>;

/** What went wrong. Codes are stable between releases: branch on them, never on messages. */
export type ErrorCode = keyof typeof meanings;

/** What a refusal means, and what ends it. `scope`: the one to grant. `advice`: that of the whole call, if it differs. */
export function meaningOf({ code, scope, advice }: Pick<ServiceError, 'code'> & Partial<ServiceError>): Meaning {
  if (code === 'insufficient_scope' && scope !== undefined)
    return { sentence: `The API key lacks the scope ${scope}.`, remedy: `Grant ${scope} to the API key.` };
  const [, sentence, remedy] = meanings[code];
  if (advice !== 'reconcile') return { sentence, remedy };
  return { sentence, remedy: 'It may have been carried out: check at the service before you repeat it.' };
}

/** Why a key can't read. `missingScope`: null if the service refuses the key as a whole. */
export function meaningOfRefusedKey(missingScope: string | null | undefined): Meaning {
  return meaningOf(missingScope ? { code: 'insufficient_scope', scope: missingScope } : { code: 'unauthenticated' });
}

/** What happened, without a full stop, to be quoted in a sentence: `the service fails (503)`. */
export function wordsOf({ code, detail, scope }: Pick<ServiceError, 'code' | 'detail' | 'scope'>): string {
  const { sentence } = meaningOf({ code, scope });
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1, -1)}${detail === undefined ? '' : ` (${detail})`}`;
}

/** What rows hold of an error: its code first, where `codeIn` finds it. `detail` may quote the service. */
export function reasonOf({ code, status, detail }: ServiceError, hasDetail: boolean): string {
  const more = hasDetail ? detail : status;
  return more === undefined ? code : `${code} (${more})`;
}

/** The code that a reason of `reasonOf` begins with. Undefined for any other reason. */
export function codeIn(reason: string): ErrorCode | undefined {
  const [word = ''] = /^[a-z_]*/.exec(reason) ?? [];
  return Object.hasOwn(meanings, word) ? (word as ErrorCode) : undefined;
}

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
 * The only error of this client (section 7). Its message is `operation: what the code means (detail)`. It never holds
 * the credential, an address or an answer's body; of the error envelope's message it quotes at most 200 characters.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly advice: Advice;
  /** The operation's name, such as `calls.search`. */
  readonly operation: string;
  readonly effect: Effect;
  readonly status: number | undefined;
  /** The missing scope, when the service named it. */
  readonly scope: string | undefined;
  /** Milliseconds to wait before another try, when the service or the open circuit asks for it. */
  readonly retryAfterMs: number | undefined;

  /** `detail`: what the code doesn't say, such as the status and the message of the service. */
  constructor(code: ErrorCode, detail: string | undefined, details: ErrorDetails) {
    const { operation, scope, cause } = details;
    super(`${operation}: ${wordsOf({ code, detail, scope })}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.detail = detail;
    this.advice = details.advice ?? meanings[code][0];
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
  return new ServiceError('aborted', undefined, { operation, effect, cause });
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
  const { code, detail, operation, effect, advice, status, scope, retryAfterMs, cause } = error;
  const details = { operation, effect, advice, status, scope, retryAfterMs, cause, ...outcome };
  return new ServiceError(code, detail, details);
}
