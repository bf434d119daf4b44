import type { Log } from '../log.ts';
import { type Calls, createCalls } from './resources/calls.ts';
import { type Conversations, createConversations } from './resources/conversations.ts';
import { createDrafts, type Drafts } from './resources/drafts.ts';
import { createLines, type Lines } from './resources/lines.ts';
import { createMessages, type Messages } from './resources/messages.ts';
import { createTemplates, type Templates } from './resources/templates.ts';
import { createUnread, type Unread } from './resources/unread.ts';
import { createUsers, type Users } from './resources/users.ts';
import { createWebhooks, type Webhooks } from './resources/webhooks.ts';
import { parseBase } from './transport/address.ts';
import { type Credential, createAuthorization } from './transport/authorization.ts';
import { type CircuitPolicy, type CircuitState, defaultCircuit } from './transport/circuit.ts';
import { createCircuits } from './transport/circuits.ts';
import { type Clock, systemClock } from './transport/clock.ts';
import { createExchanger, defaultLimits, type Limits } from './transport/exchange.ts';
import { createLanes } from './transport/lanes.ts';
import { defaultRetry, type RetryPolicy } from './transport/retry.ts';
import { type AnswerMoment, createTransport } from './transport/transport.ts';

export type { Answer } from './answers/envelope.ts';
export type { Drift } from './answers/reading.ts';
export { isNotFound, ServiceError } from './errors.ts';
export { apiKey, type Credential } from './transport/authorization.ts';
export type { AnswerMoment } from './transport/transport.ts';

/**
 * The API of one account, sections 4.1 to 4.7 of the specification. Every method rejects with `ServiceError` and nothing
 * else; what the service must refuse is refused with `invalid_request` before anything leaves.
 */
export interface Service {
  readonly lines: Lines;
  readonly messages: Messages;
  readonly conversations: Conversations;
  readonly unread: Unread;
  readonly drafts: Drafts;
  readonly templates: Templates;
  readonly users: Users;
  readonly calls: Calls;
  readonly webhooks: Webhooks;
  /** Whether calls are let through at present. */
  readonly circuit: { state(): CircuitState };
  /** Waits for the answers under way and closes the connections. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** With or without a path and a trailing slash; `/api/public/v1` is added. */
  baseUrl: string;
  credential: Credential;
  log: Log;
  retry?: Partial<RetryPolicy>;
  limits?: Partial<Limits>;
  circuit?: Partial<CircuitPolicy>;
  /** Told of every try that ended. */
  onAnswer?: (moment: AnswerMoment) => void;
  clock?: Clock;
}

/** Opens the client of one service; nothing is sent before the first call. Throws when `baseUrl` cannot be one. */
export function createService(options: ServiceOptions): Service {
  const { credential, log, onAnswer, clock = systemClock } = options;
  const base = parseBase(options.baseUrl);
  const exchanger = createExchanger(base.origin, { ...defaultLimits, ...options.limits });
  const circuits = createCircuits({ ...defaultCircuit, ...options.circuit }, clock.now, (state, operation) =>
    tellChange(log, state, operation),
  );
  const retry = { ...defaultRetry, ...options.retry };
  const transport = createTransport({
    base,
    exchanger,
    authorization: createAuthorization(credential, clock.now),
    circuits,
    lanes: createLanes(
      { baseMs: retry.baseMs, capMs: retry.retryAfterCapMs, isResting: (operation) => circuits.restMs(operation) > 0 },
      clock,
    ),
    retry,
    clock,
    log,
    onAnswer,
  });
  return {
    lines: createLines(transport),
    messages: createMessages(transport),
    conversations: createConversations(transport),
    unread: createUnread(transport),
    drafts: createDrafts(transport),
    templates: createTemplates(transport),
    users: createUsers(transport),
    calls: createCalls(transport),
    webhooks: createWebhooks(transport),
    circuit: { state: circuits.state },
    close: exchanger.close,
  };
}

function tellChange(log: Log, change: CircuitState, operation: string | undefined): void {
  if (operation !== undefined) {
    if (change.state === 'open') log.warn({ ...change, operation }, 'the service throttles this, calls of it rest');
    else if (change.state === 'closed') log.info({ ...change, operation }, 'the service takes calls of this again');
    return;
  }
  if (change.state === 'open') log.warn(change, 'the service fails repeatedly, calls to it rest');
  else if (change.state === 'closed') log.info(change, 'the service answers again');
}
