import type { Log } from '../../log.ts';
import type { Answer, Service } from '../../service/client.ts';
import type { ConversationState } from '../../service/entities/conversation.ts';
import { type Database, inTransaction, type Transaction } from '../../warehouse/database.ts';
import { assigneeOf } from './assignee.ts';
import { doneWithoutNote, outcomeBeforeRequest, outcomeOfRequest } from './failures.ts';
import { type Look, newsIn } from './news.ts';
import { type Observed, recordBlock, recordState } from './observed.ts';
import { beginAction, type Outcome, type Pending, settleAction } from './pending.ts';

export interface ActionParts {
  readonly db: Database;
  readonly service: Pick<Service, 'conversations' | 'lines'>;
  readonly log: Log;
  /** Whether a rule is in force and live: what waits of one that is not is not done. */
  readonly isLive: (rule: string) => boolean;
  readonly look: Look;
  /** Whose credential the service is shown. It credits a resolve to the user who logged in, and lets nobody name another. */
  readonly actsFor: 'account' | 'user';
}

/** A request that is ready to leave. */
interface Request {
  /** It carries a note, which would stand twice. */
  readonly hasNote: boolean;
  /** Lets it leave; resolves with what writes down what its answer showed. */
  send(): Promise<(tx: Transaction) => Promise<void>>;
}

/**
 * Does one claimed action and records how it ended, with what the answer showed. What can be repeated is; a note is asked
 * for once, since it would stand twice (section 4.2). An action that another process has taken meanwhile is left to it.
 */
export async function performAction(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<void> {
  const outcome = await takeTurn(parts, action, signal);
  if (!outcome) return;
  await settleAction(parts.db, action, outcome);
  if (outcome.state === 'failed' || outcome.state === 'unclear') {
    parts.log.warn(
      { rule: action.rule, run: action.runId, action: action.kind, reason: outcome.reason },
      'An action of a rule ended without its effect being certain',
    );
  }
}

/** Answers with how the turn ended, or with nothing when that is recorded already, or another process's to record. */
async function takeTurn(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<Outcome | undefined> {
  const { db } = parts;
  let request: Request;
  try {
    const next = (await obstacleTo(parts, action, signal)) ?? (await requestFor(parts, action, signal));
    if ('state' in next) return next;
    if (!(await beginAction(db, action, next.hasNote))) return undefined;
    request = next;
  } catch (error) {
    return outcomeBeforeRequest(error, action);
  }
  try {
    const record = await request.send();
    await inTransaction(db, async (tx) => {
      await record(tx);
      await settleAction(tx, action, action.wasBegun ? doneWithoutNote : done);
    });
    return undefined;
  } catch (error) {
    return outcomeOfRequest(error, action, request.hasNote);
  }
}

const done: Outcome = { state: 'done' };

/** Why an action is not even asked for, or not now. */
async function obstacleTo(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<Outcome | undefined> {
  const { rule, kind, replyState, replyReason, wasBegun } = action;
  if (!parts.isLive(rule)) return { state: 'skipped', reason: 'the rule is not live any more' };
  if (kind === 'comment' && wasBegun) {
    return { state: 'unclear', reason: 'the note may stand: it was being asked for when the process ended' };
  }
  if (kind !== 'resolve') return undefined;
  if (replyState === 'skipped') {
    return { state: 'skipped', reason: `its reply was not sent: ${replyReason ?? 'not known why'}` };
  }
  return newsIn(parts, action, signal);
}

async function requestFor(parts: ActionParts, action: Pending, signal: AbortSignal): Promise<Request | Outcome> {
  const { conversations, lines } = parts.service;
  const { line, number, argument, wasBegun } = action;
  const pair = { line, number };
  const call = { signal };
  switch (action.kind) {
    case 'resolve': {
      // Of a note that may stand nothing is said twice: the rest is repeated without it.
      const comment = wasBegun ? undefined : argument.comment;
      const wishes = {
        ...(argument.userId !== undefined && parts.actsFor === 'account' && { resolvedBy: argument.userId }),
        ...(comment !== undefined && { comment }),
      };
      return {
        hasNote: comment !== undefined,
        send: () => shown(action, 'conversations.resolve', conversations.resolve(pair, wishes, call)),
      };
    }
    case 'reopen':
      return { hasNote: false, send: () => shown(action, 'conversations.reopen', conversations.reopen(pair, call)) };
    case 'assign': {
      const found = await assigneeOf(parts.db, argument.to ?? { kind: 'nobody' }, action);
      if ('nobody' in found) return { state: found.isMistake ? 'failed' : 'skipped', reason: found.nobody };
      const { user } = found;
      return {
        hasNote: false,
        send: () => shown(action, 'conversations.assign', conversations.assign(pair, user, call), user),
      };
    }
    case 'comment':
      return {
        hasNote: true,
        send: () => shown(action, 'conversations.comment', conversations.comment(pair, argument.text ?? '', call)),
      };
    case 'block': {
      const { reason } = argument;
      const sender = { number, ...(reason !== undefined && { reason }) };
      return {
        hasNote: false,
        async send() {
          const { data } = await lines.block(line, sender, call);
          return (tx) => recordBlock(tx, pair, data);
        },
      };
    }
  }
}

const axes = {
  'conversations.resolve': 'resolved',
  'conversations.reopen': 'resolved',
  'conversations.assign': 'assigned',
  'conversations.comment': 'comment',
} as const satisfies Record<string, Observed['axis']>;

/** What writes down the conversation's state that an answer shows. */
async function shown(
  { line, number, rule, runId }: Pending,
  via: keyof typeof axes,
  answer: Promise<Answer<ConversationState>>,
  assignedTo?: number | null,
): Promise<(tx: Transaction) => Promise<void>> {
  const { data: state } = await answer;
  const observed = { line, number, axis: axes[via], state, actor: rule, via, runId };
  return (tx) => recordState(tx, { ...observed, ...(assignedTo !== undefined && { assignedTo }) });
}
