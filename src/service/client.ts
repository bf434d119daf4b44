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
import { createWaitingRequests, type Waiting } from './transport/waiting.ts';

export type { Answer } from './answers/envelope.ts';
export type { Drift } from './answers/reading.ts';
export type { BlockedSender } from './entities/blocked-sender.ts';
export type { Call, CallSummary, Leg } from './entities/call.ts';
export type { ConversationState } from './entities/conversation.ts';
export type { Line } from './entities/line.ts';
export type { Message } from './entities/message.ts';
export type { Recording } from './entities/recording.ts';
export type { Draft, Template } from './entities/saved-text.ts';
export type { Sent, SentMessage } from './entities/sent.ts';
export type { Subscription } from './entities/subscription.ts';
export type { Transcript } from './entities/transcript.ts';
export type { UnreadCounts } from './entities/unread.ts';
export type { User } from './entities/user.ts';
export { type Advice, type Effect, type ErrorCode, isNotFound, ServiceError } from './errors.ts';
export type { Attachment } from './requests/attachments.ts';
export type { ObjectId } from './requests/identifiers.ts';
export type { SendRequest } from './requests/sending.ts';
export type { CallFilters, CallPage, CallSearch } from './resources/calls.ts';
export type { Pair, ReadMarks, Resolution, Thread, ThreadPage, ThreadRead } from './resources/conversations.ts';
export { apiKey, bearer, type Credential, type TokenSource } from './transport/authorization.ts';
export type { AnswerMoment, CallOptions } from './transport/transport.ts';

/** Where the client writes its log; a pino logger is one. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const silent: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

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
  /** Whether requests wait for an answer, and for how long. */
  waiting(): Waiting;
  /**
   * Gives up reads, and writes that may be repeated, that are under way, with `aborted`, and lets nothing begin any more;
   * `all`: also what must not be repeated, such as a send, whose effect is then unknown.
   */
  abandon(what: 'repeatable' | 'all'): void;
  /** Waits for the answers under way and closes the connections. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** With or without a path and a trailing slash; `/api/public/v1` is added. */
  baseUrl: string;
  credential: Credential;
  /** Default: nothing is logged. */
  log?: Logger | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  limits?: Partial<Limits> | undefined;
  circuit?: Partial<CircuitPolicy> | undefined;
  /** Told of every try that ended. */
  onAnswer?: ((moment: AnswerMoment) => void) | undefined;
  clock?: Clock | undefined;
}

/** Opens the client of one service; nothing is sent before the first call. Throws when `baseUrl` cannot be one. */
export function createService(options: ServiceOptions): Service {
  const { credential, log = silent, onAnswer, clock = systemClock } = options;
  const base = parseBase(options.baseUrl);
  const exchanger = createExchanger(base.origin, { ...defaultLimits, ...options.limits });
  const circuits = createCircuits({ ...defaultCircuit, ...options.circuit }, clock.now, (state, operation) =>
    tellChange(log, state, operation),
  );
  const retry = { ...defaultRetry, ...options.retry };
  const waiting = createWaitingRequests(clock.now);
  const transport = createTransport({
    base,
    waiting,
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
    waiting: waiting.state,
    abandon: transport.abandon,
    close: exchanger.close,
  };
}

function tellChange(log: Logger, change: CircuitState, operation: string | undefined): void {
  if (operation !== undefined) {
    if (change.state === 'open') log.warn({ ...change, operation }, 'the service throttles this, calls of it rest');
    else if (change.state === 'closed') log.info({ ...change, operation }, 'the service takes calls of this again');
    return;
  }
  if (change.state === 'open') log.warn(change, 'the service fails repeatedly, calls to it rest');
  else if (change.state === 'closed') log.info(change, 'the service answers again');
}
