import {
  type Answer,
  type ConversationState,
  type ObjectId,
  reasonOf,
  type Service,
  ServiceError,
} from '../../api-client/client.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { readRuleMode } from '../../ledger/rules-in-force.ts';
import type { Log } from '../../shared/log.ts';
import type { Thread } from '../../shared/thread.ts';
import { dayMs } from '../../shared/time-range.ts';
import { erasedAmong } from '../../warehouse/erasure/erased.ts';
import type { Mode } from '../rule.ts';
import {
  beginAction,
  type ClaimedAction,
  claimActions,
  isAnyDue,
  type Outcome,
  overtakenBy,
  type Performer,
  readSeconds,
  recordOutcome,
  recordReplyOutcomes,
} from './action-states.ts';
import { findAssignee, newerText, type ObservedState, recordState } from './conversation.ts';
import { requestToTell, type TellContext } from './tell.ts';

export interface ActionContext extends TellContext {
  readonly service: Pick<Service, 'conversations' | 'lines'>;
  readonly log: Log;
  /** RULES_MODE. Waiting actions are left to workers that are live. */
  readonly mode: Mode;
  /** Reads a thread from the service and mirrors it. False if it couldn't be read whole. Throws ServiceError. */
  readonly readThread: (thread: Thread, signal: AbortSignal) => Promise<boolean>;
}

const maxAtOnce = 8;

/** Performs all due actions of a performer. Safe in any number of processes: a claim gives each action to one. */
export async function performDueActions(
  context: ActionContext,
  performer: Performer,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await isAnyDue(context.db, performer))) {
    await recordReplyOutcomes(context.db);
    if (context.mode !== 'live') return;
    const claimed = await claimActions(context.db, performer, maxAtOnce);
    if (claimed.length === 0) return;
    await Promise.all(claimed.map((action) => performAction(context, action, signal)));
  }
}

/** A request that is ready to leave. */
interface Request {
  /** It carries a note, which a retry would post twice. */
  readonly hasNote: boolean;
  /** Asked in the transaction that permits the request; returns why it may not leave. */
  readonly refusal?: (tx: Transaction) => Promise<Outcome | undefined>;
  /** Sends the request; resolves to a function that records the answer. */
  send(): Promise<(tx: Transaction) => Promise<void>>;
}

/**
 * Performs a claimed action, and records its outcome and the state in the answer. Requests are retried until they
 * succeed, except those with a note: the service has no idempotency key for notes (section 4.2).
 */
export async function performAction(context: ActionContext, action: ClaimedAction, signal: AbortSignal): Promise<void> {
  const outcome = await attempt(context, action, signal);
  if (!outcome) return;
  await recordOutcome(context.db, action, outcome);
  if (outcome.state === 'failed' || outcome.state === 'unclear') {
    context.log.warn(
      { rule: action.rule, run: action.runId, action: action.kind, reason: outcome.reason },
      outcome.state === 'failed'
        ? 'An action of a rule failed; it is not retried'
        : 'An action of a rule may or may not have been performed; check the conversation',
    );
  }
}

const doneWithoutNote: Outcome = { state: 'done', reason: 'repeated without the note, which may have been posted' };

/** Resolves with undefined when the outcome is already recorded, or another process records it. */
async function attempt(
  context: ActionContext,
  action: ClaimedAction,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { db } = context;
  let request: Request;
  try {
    const next = (await refusalOf(context, action, signal)) ?? (await requestFor(context, action, signal));
    if ('state' in next) return next;
    const begun = await inTransaction(
      db,
      async (tx) => (await next.refusal?.(tx)) ?? beginAction(tx, action, next.hasNote),
    );
    if (typeof begun !== 'boolean') return begun;
    if (!begun) return undefined;
    request = next;
  } catch (error) {
    return refusedBy(error) ?? later(action, messageOf(error), { afterMs: retryAfterOf(error) });
  }
  try {
    const record = await request.send();
    await inTransaction(db, async (tx) => {
      // If an erasure removed the thread during the request, the answer must not bring it back.
      const { number } = action;
      if (!(await erasedAmong(tx, () => [number])).has(number)) await record(tx);
      await recordOutcome(tx, action, action.wasBegun ? doneWithoutNote : { state: 'done' });
    });
    return undefined;
  } catch (error) {
    return outcomeOfRequest(error, action, request.hasNote);
  }
}

/** Why an action isn't requested, or not now. */
async function refusalOf(
  context: ActionContext,
  action: ClaimedAction,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { rule, kind, replyState, replyReason, wasBegun } = action;
  if ((await readRuleMode(context.db, rule)) !== 'live')
    return { state: 'skipped', reason: 'the rule is not live any more' };
  if (kind === 'comment' && wasBegun) {
    return { state: 'unclear', reason: 'the note may have been posted: the process ended during the request' };
  }
  const overtaking = await overtakenBy(context.db, action);
  if (overtaking !== undefined) {
    return { state: 'skipped', reason: `it waited for too long, and a later step of ${overtaking} decided meanwhile` };
  }
  if (kind !== 'resolve') return undefined;
  if (replyState === 'skipped') {
    return { state: 'skipped', reason: `its reply was not sent: ${replyReason ?? 'no reason recorded'}` };
  }
  return checkForNewerText(context, action, signal);
}

const skippedBecauseOf = {
  in: { state: 'skipped', reason: 'the other party has written again' },
  out: { state: 'skipped', reason: 'the thread is no longer idle' },
} as const satisfies Record<string, Outcome>;

/**
 * Reads the thread from the service before it is resolved: a webhook may have been lost, and a resolved thread hides
 * new texts. Throws if the read doesn't end within `readSeconds`.
 */
async function checkForNewerText(
  { db, readThread }: ActionContext,
  action: ClaimedAction,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const known = await newerText(db, action);
  if (known) return skippedBecauseOf[known];
  const { line, number } = action;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(readSeconds * 1_000)]);
  const isWhole = await readThread({ line, number, participants: [] }, inTime);
  const found = await newerText(db, action);
  if (found) return skippedBecauseOf[found];
  return isWhole ? undefined : later(action, 'the thread could not be read whole');
}

async function requestFor(
  context: ActionContext,
  action: ClaimedAction,
  signal: AbortSignal,
): Promise<Request | Outcome> {
  const { db, service } = context;
  const { conversations } = service;
  const { line, number, argument, wasBegun } = action;
  const pair = { line, number };
  const call = { signal };
  switch (action.kind) {
    case 'resolve': {
      // A note that may exist isn't sent again: the resolve is repeated without it.
      const comment = wasBegun ? undefined : argument.comment;
      const send = () => conversations.resolve(pair, comment === undefined ? {} : { comment }, call);
      return stateRequest(action, 'resolved', 'conversations.resolve', send, { hasNote: comment !== undefined });
    }
    case 'reopen':
      return stateRequest(action, 'resolved', 'conversations.reopen', () => conversations.reopen(pair, call));
    case 'assign': {
      const found = await findAssignee(db, argument.to ?? { kind: 'nobody' }, action);
      if ('missing' in found) return { state: found.isMistake ? 'failed' : 'skipped', reason: found.missing };
      const send = () => conversations.assign(pair, found.user, call);
      return stateRequest(action, 'assigned', 'conversations.assign', send, { assignedTo: found.user });
    }
    case 'comment': {
      const send = () => conversations.comment(pair, argument.text ?? '', call);
      return stateRequest(action, 'comment', 'conversations.comment', send, { hasNote: true });
    }
    case 'notify':
    case 'webhook': {
      const next = await requestToTell(context, action);
      if ('state' in next) return next;
      return { ...next, hasNote: false, send: () => next.send().then(() => () => Promise.resolve()) };
    }
  }
}

/** A request that is answered with the state of the conversation. */
function stateRequest(
  { line, number, rule, runId }: ClaimedAction,
  axis: ObservedState['axis'],
  via: string,
  send: () => Promise<Answer<ConversationState>>,
  { hasNote = false, assignedTo }: { hasNote?: boolean; assignedTo?: ObjectId | null } = {},
): Request {
  return {
    hasNote,
    async send() {
      const { data: state } = await send();
      return (tx) => recordState(tx, { line, number, axis, state, assignedTo, rule, via, runId });
    },
  };
}

const minPauseMs = 2_000;
const maxPauseMs = 600_000;

/** An action that couldn't be requested for a day is given up. One that becomes due later still gets one attempt. */
const maxWaitMs = dayMs;

/** Retries after as long as the action has waited so far, or as the service asks; gives up after a day. */
function later(
  { tries, wasBegun, waitedMs }: ClaimedAction,
  reason: string,
  { afterMs = 0, ...changes }: { afterMs?: number; tries?: number; isBegun?: boolean } = {},
): Outcome {
  if (waitedMs >= maxWaitMs) return { state: 'failed', reason: `given up after a day: ${reason}` };
  const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, waitedMs));
  const requestedMs = Math.min(afterMs, maxWaitMs - waitedMs);
  return { state: 'later', afterMs: Math.max(requestedMs, pauseMs), reason, tries, isBegun: wasBegun, ...changes };
}

/** The outcome of a request that failed after it had begun: it may have had its effect. */
function outcomeOfRequest(error: unknown, action: ClaimedAction, hasNote: boolean): Outcome {
  // Any other error is our own, while recording an answer of success: repeat the request to get its answer again.
  const isServiceError = error instanceof ServiceError;
  const mayExist = hasNote && !(isServiceError && error.effect === 'none');
  if (mayExist && action.kind === 'comment') {
    return { state: 'unclear', reason: `the note may have been posted: ${messageOf(error)}` };
  }
  // With an open circuit breaker or a missing credential, no request left; an unreachable host got none.
  const hasLeft = !isServiceError || error.effect === 'unknown' || error.status !== undefined;
  return (
    refusedBy(error) ??
    later(action, mayExist ? `${messageOf(error)}, and its note may have been posted` : messageOf(error), {
      afterMs: retryAfterOf(error),
      tries: action.tries + (hasLeft ? 1 : 0),
      isBegun: action.wasBegun || mayExist,
    })
  );
}

function refusedBy(error: unknown): Outcome | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { advice } = error;
  const isRefused = advice === 'refused' || advice === 'not_found' || advice === 'permission';
  return isRefused ? { state: 'failed', reason: reasonOf(error, true) } : undefined;
}

function retryAfterOf(error: unknown): number {
  return (error instanceof ServiceError && error.retryAfterMs) || 0;
}

function messageOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.message : String(error);
}
