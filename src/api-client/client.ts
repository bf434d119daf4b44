import { type AccountCheck, createAccountGate } from './account-gate.ts';
import { createResources } from './operations.ts';
import { type Clock, systemClock } from './transport/clock.ts';
import { createExchanger, defaultLimits, type Limits } from './transport/exchange.ts';
import { parseBase } from './transport/operation.ts';
import { type CircuitPolicy, createThrottle, defaultCircuit } from './transport/throttle.ts';
import {
  createRequestCount,
  createTransport,
  defaultRetry,
  type RequestAttempt,
  type RetryPolicy,
} from './transport/transport.ts';

export { type AccountCheck, type AccountReads, accountReads } from './account-gate.ts';
export type { Answer } from './answers/envelope.ts';
export { withFields } from './answers/fields.ts';
export type { Field } from './answers/values.ts';
export type * from './entities/account-schemas.ts';
export type * from './entities/call-schemas.ts';
export type * from './entities/text-schemas.ts';
export {
  codeIn,
  type ErrorCode,
  isNotFound,
  meaningOf,
  meaningOfRefusedKey,
  reasonOf,
  ServiceError,
  wordsOf,
} from './errors.ts';
export { type Messages, operations, type Scope } from './operations.ts';
export type * from './requests.ts';
export { type CallOptions, type ObjectId, objectId } from './transport/operation.ts';
export type { RequestAttempt } from './transport/transport.ts';

/** Where the client writes its log; a pino logger is one. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const silent: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

export interface ServiceOptions {
  /** With or without a path and a trailing slash; `/api/public/v1` is added. */
  baseUrl: string;
  /** API key of the account (section 5). */
  apiKey: string;
  /** Default: nothing is logged. */
  log?: Logger | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  limits?: Partial<Limits> | undefined;
  circuit?: Partial<CircuitPolicy> | undefined;
  /**
   * Recognizes the account before it's asked anything, and before an absence is believed. Default: accepts any account.
   */
  checkAccount?: AccountCheck | undefined;
  /** Called after every request, with its outcome. */
  onAnswer?: ((moment: RequestAttempt) => void) | undefined;
  clock?: Clock | undefined;
}

/** The API of one account, sections 4.1 to 4.7 of the specification. */
export type Service = ReturnType<typeof createService>;

/**
 * Opens the client of one service. Sends nothing before the first call. Throws if `baseUrl` or `apiKey` is unusable.
 */
export function createService(options: ServiceOptions) {
  const { apiKey, log = silent, onAnswer, clock = systemClock } = options;
  const base = parseBase(options.baseUrl);
  const limits = { ...defaultLimits, ...options.limits };
  const exchanger = createExchanger(base.origin, limits);
  const retry = { ...defaultRetry, ...options.retry };
  const policy = { ...defaultCircuit, ...options.circuit, ...limits, ...retry };
  const throttle = createThrottle(policy, clock, log);
  const count = createRequestCount(clock.now);
  const ungated = createTransport({
    ...{ base, exchanger, throttle, count, retry, clock, log, onAnswer },
    authorization: authorizationOf(apiKey),
  });
  const gate = options.checkAccount && createAccountGate(ungated, options.checkAccount, clock);
  const transport = gate?.transport ?? ungated;
  return {
    ...createResources(transport),
    /** Whether calls are let through at present. */
    circuit: { state: throttle.circuit, failingMs: throttle.failingMs },
    /** Why the account that answers isn't the mirrored one; undefined if it is, or if nothing is known yet. */
    accountProblem: () => gate?.problem(),
    /** Resolves if the mirrored account answers now. Call it before an absence deletes anything or proves anything. */
    confirmAccount: async (operation: string, signal?: AbortSignal) => gate?.confirm(operation, signal),
    /** How many requests this process made in the last minute. */
    requestsOfLastMinute: count.lastMinute,
    abandon: transport.abandon,
    /** Waits for the answers under way and closes the connections. */
    close: exchanger.close,
  };
}

/** With a line break at its end, every request would look like a network failure. */
function authorizationOf(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return `Bearer ${apiKey}`;
  throw new TypeError('The API key is empty or has spaces, line breaks or letters that a header cannot carry.');
}
