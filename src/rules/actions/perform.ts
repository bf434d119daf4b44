import type { Log } from '../../log.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { ConversationState } from '../../service/entities/conversation.ts';
import { type Database, inTransaction } from '../../warehouse/database.ts';
import type { Thread } from '../../warehouse/entities/texts/conversations.ts';
import { assigneeOf } from './assignee.ts';
import { recordBlock, recordState } from './observed.ts';
import { beginAction, haveWrittenSince, type Outcome, type Pending, settleAction } from './pending.ts';

export interface ActionParts {
  readonly db: Database;
  readonly service: Pick<Service, 'conversations' | 'lines'>;
  readonly log: Log;
  /** Whether a rule is in force and live: what waits of one that is not is not done. */
  readonly isLive: (rule: string) => boolean;
  /** Reads a thread now and mirrors it; true when the mirror then holds it as the service has it. Rejects with a ServiceError. */
  readonly look: (thread: Thread, signal: AbortSignal) => Promise<boolean>;
}

/** After so many requests an action is given up. */
const mostTries = 8;
const firstPauseMs = 2_000;
const longestPauseMs = 600_000;

/**
 * Does one claimed action and records how it ended, with what the answer showed. What can be repeated is; a note is asked
 * for once, since it would stand twice (section 4.2).
 */
export async function performAction(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<Outcome> {
  const { db, log } = parts;
  const obstacle = parts.isLive(action.rule) ? obstacleOf(action) : ruleIsOff;
  const outcome = obstacle ?? (await ask(parts, action, signal).catch((error: unknown) => outcomeOf(error, action)));
  if (outcome !== recorded) await settleAction(db, action, outcome);
  if (outcome.state === 'failed' || outcome.state === 'unclear') {
    log.warn(
      { rule: action.rule, run: action.runId, action: action.kind, reason: outcome.reason },
      'An action of a rule ended without its effect being certain',
    );
  }
  return outcome;
}

const recorded: Outcome = { state: 'done' };
const ruleIsOff: Outcome = { state: 'skipped', reason: 'the rule is not live any more' };
const theyWroteAgain: Outcome = { state: 'skipped', reason: 'they have written again' };

/** Why an action is not even asked for. */
function obstacleOf(action: Pending): Outcome | undefined {
  const { kind, replyState, replyReason, wasBegun } = action;
  if (kind === 'comment' && wasBegun) {
    return { state: 'unclear', reason: 'the note may stand: it was being asked for when the process ended' };
  }
  return kind === 'resolve' && replyState === 'skipped'
    ? { state: 'skipped', reason: `its reply was not sent: ${replyReason ?? 'not known why'}` }
    : undefined;
}

/**
 * Why a thread is not to be resolved, by the service's own list of its texts: an event can be lost, and none tells of
 * what a resolve has hidden.
 */
async function newsIn({ db, look }: ActionParts, action: Pending, signal: AbortSignal): Promise<Outcome | undefined> {
  if (await haveWrittenSince(db, action)) return theyWroteAgain;
  const { line, number, tries } = action;
  const isWhole = await look({ line, number, participants: [] }, signal);
  if (await haveWrittenSince(db, action)) return theyWroteAgain;
  if (isWhole) return undefined;
  return tries < mostTries
    ? { state: 'later', afterMs: pauseAfter(tries), reason: 'the thread could not be read whole' }
    : { state: 'failed', reason: `given up after ${tries} tries: the thread could not be read whole` };
}

async function ask(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<Outcome> {
  const { db, service } = parts;
  const { line, number, argument } = action;
  const pair = { line, number };
  switch (action.kind) {
    case 'resolve': {
      const news = await newsIn(parts, action, signal);
      if (news) return news;
      // Of a note that may stand nothing is said twice: the rest is repeated without it.
      const comment = action.wasBegun ? undefined : argument.comment;
      if (comment !== undefined) await beginAction(db, action);
      const wishes = {
        ...(argument.userId !== undefined && { resolvedBy: argument.userId }),
        ...(comment !== undefined && { comment }),
      };
      const { data } = await service.conversations.resolve(pair, wishes, { signal });
      return observe(parts, action, 'resolved', data, 'conversations.resolve');
    }
    case 'reopen': {
      const { data } = await service.conversations.reopen(pair, { signal });
      return observe(parts, action, 'resolved', data, 'conversations.reopen');
    }
    case 'assign': {
      const found = await assigneeOf(db, action);
      if ('nobody' in found) return { state: found.isMistake ? 'failed' : 'skipped', reason: found.nobody };
      const { user } = found;
      const { data } = await service.conversations.assign(pair, user, { signal });
      return observe(parts, action, 'assigned', data, 'conversations.assign', user);
    }
    case 'comment': {
      await beginAction(db, action);
      const { data } = await service.conversations.comment(pair, argument.text ?? '', { signal });
      return observe(parts, action, 'comment', data, 'conversations.comment');
    }
    case 'block': {
      const { data } = await service.lines.block(
        line,
        { number, ...(argument.reason !== undefined && { reason: argument.reason }) },
        { signal },
      );
      await inTransaction(db, async (tx) => {
        await recordBlock(tx, pair, data);
        await settleAction(tx, action, recorded);
      });
      return recorded;
    }
  }
}

async function observe(
  { db }: ActionParts,
  action: Pending,
  axis: 'resolved' | 'assigned' | 'comment',
  state: ConversationState,
  via: string,
  assignedTo?: number | null,
): Promise<Outcome> {
  const { line, number, rule, runId } = action;
  await inTransaction(db, async (tx) => {
    await recordState(tx, {
      line,
      number,
      axis,
      state,
      actor: rule,
      via,
      runId,
      ...(assignedTo !== undefined && { assignedTo }),
    });
    await settleAction(tx, action, recorded);
  });
  return recorded;
}

function outcomeOf(error: unknown, { kind, tries, argument, wasBegun }: Pending): Outcome {
  // What is no answer of the service happened on our side of it: the transaction that records is tried again with the call.
  if (!(error instanceof ServiceError)) {
    if (kind === 'comment') return { state: 'unclear', reason: messageOf(error) };
    return {
      state: 'later',
      afterMs: pauseAfter(tries),
      reason: messageOf(error),
      ...(kind === 'resolve' && { without: 'comment' as const }),
    };
  }
  const isUncertain = error.effect === 'unknown' && error.advice === 'retry';
  if (kind === 'comment' && isUncertain) return { state: 'unclear', reason: `the note may stand: ${error.code}` };
  if (error.advice === 'refused' || error.advice === 'not_found' || error.advice === 'permission') {
    return { state: 'failed', reason: `${error.code}: ${error.message}`.slice(0, 300) };
  }
  if (tries >= mostTries) return { state: 'failed', reason: `given up after ${tries} tries: ${error.code}` };
  const saidNote = kind === 'resolve' && argument.comment !== undefined && (isUncertain || wasBegun);
  return {
    state: 'later',
    afterMs: Math.max(error.retryAfterMs ?? 0, saidNote ? 0 : pauseAfter(tries)),
    reason: saidNote ? `${error.code}: repeated without the note, which may stand` : error.code,
    ...(saidNote && { without: 'comment' as const }),
  };
}

function pauseAfter(tries: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, tries - 1));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
