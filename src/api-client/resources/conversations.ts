import { normalizeNumber } from '../../shared/numbers.ts';
import { type Answer, nothing, type Read } from '../answers/envelope.ts';
import { one, optional, requiredObject, requiredRows } from '../answers/fields.ts';
import { flag, text } from '../answers/values.ts';
import { conversationState, type Message, message, type Sent, sent } from '../entities/texts.ts';
import {
  commentProblem,
  idInJson,
  idProblem,
  messageIdsProblem,
  numberProblem,
  type ObjectId,
  pageProblem,
} from '../requests/parameters.ts';
import { type SendRequest, sendBody, sendProblem } from '../requests/sending.ts';
import { type CallOptions, del, get, type Path, path, post } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/** A conversation has no id: our line and their number identify it, or our line and a group (section 2.5). */
export interface Thread {
  line: string;
  number: string;
  groupParticipants?: readonly string[] | undefined;
}

/** A conversation of two parties: the service ignores a group in a change (section 4.2). */
export interface Pair {
  line: string;
  number: string;
  groupParticipants?: never;
}

export interface ThreadPage {
  /** The service refuses one out of its range, which is not specified, with `invalid_request`. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** Marks the returned messages read for the calling user. Only true is ever sent. */
  markRead?: true | undefined;
}

/** Messages as the service ordered them: their order is not specified. */
export interface ThreadRead {
  line?: string | undefined;
  number?: string | undefined;
  messages: readonly Message[];
  markedRead?: boolean | undefined;
}

export interface Resolution {
  /** The user to credit, with an API key only: an OAuth token credits its owner (section 5.3). */
  resolvedBy?: number | undefined;
  /** An internal note, never shown to the other party. */
  comment?: string | undefined;
}

export interface ReadMarks {
  /** 1 to 50 messages of the thread. */
  messageIds: readonly ObjectId[];
  /** False marks them unread. Default true. */
  read?: boolean | undefined;
}

/**
 * Section 4.2: text conversations. An OAuth user needs the permission Phone numbers, and `line` must be one of theirs:
 * `permission_denied` otherwise. Numbers may be formatted. Operations that are not idempotent are never repeated; the
 * effect in their errors says whether they may have been carried out.
 */
export function createConversations({ repeatable, once }: Transport) {
  return {
    /** Scope messages:read. */
    read: (thread: Thread, page: ThreadPage = {}, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.read',
        ...get`${at(thread)}`,
        query: {
          groupParticipants: thread.groupParticipants?.join(','),
          limit: page.limit,
          offset: page.offset,
          markRead: page.markRead === true ? true : undefined,
        },
        problem: threadProblem(thread) ?? pageProblem(page),
        read: readThread,
      }),
    /**
     * Scope sms:write: idempotent without a `comment`. With one it is never repeated, because each request adds the
     * note: when in doubt, resolve again without it. `invalid_request` for a `resolvedBy` that is no user.
     */
    resolve: (pair: Pair, { resolvedBy, comment }: Resolution = {}, call?: CallOptions) => {
      const userProblem = resolvedBy === undefined ? undefined : idProblem('resolvedBy', resolvedBy);
      return (comment === undefined ? repeatable : once)(call, {
        name: 'conversations.resolve',
        ...post`${at(pair)}/resolve`,
        body: resolvedBy === undefined && comment === undefined ? undefined : { resolvedBy, comment },
        problem: pairProblem(pair) ?? userProblem ?? commentProblem(comment),
        read: readState,
      });
    },
    /** Scope sms:write: adds an internal note and changes nothing else. Never repeated. */
    comment: (pair: Pair, comment: string, call?: CallOptions) =>
      once(call, {
        name: 'conversations.comment',
        ...post`${at(pair)}/comments`,
        body: { comment },
        problem: pairProblem(pair) ?? commentProblem(comment),
        read: readState,
      }),
    /**
     * Scope sms:write: to a user, or with null to nobody. Does not change whether it is resolved. `invalid_request` for
     * a user who is not on the account.
     */
    assign: (pair: Pair, userId: number | null, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.assign',
        ...post`${at(pair)}/assign`,
        body: { userId },
        problem: pairProblem(pair) ?? (userId === null ? undefined : idProblem('userId', userId)),
        read: readState,
      }),
    /** Scope sms:write: also succeeds when it was never resolved. */
    reopen: (pair: Pair, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.reopen',
        ...post`${at(pair)}/reopen`,
        problem: pairProblem(pair),
        read: readState,
      }),
    /** Scope messages:write: for the calling user only. */
    markMessages: (pair: Pair, { messageIds, read }: ReadMarks, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.markMessages',
        ...post`${at(pair)}/read`,
        body: { messageIds: messageIds.map(idInJson), read },
        problem: pairProblem(pair) ?? messageIdsProblem(messageIds),
        read: nothing,
      }),
    /**
     * Scope messages:write: cannot be undone. `permission_denied` also where the account restricts deleting.
     * `not_found` unless an earlier try of this call may have deleted it.
     */
    deleteMessage: (pair: Pair, id: ObjectId, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.deleteMessage',
        ...del`${at(pair)}/messages/${id}`,
        problem: pairProblem(pair) ?? idProblem('id', id),
        read: nothing,
      }),
    /** Scope messages:write: destroys every message of the thread. Refused like `deleteMessage`. */
    delete: (pair: Pair, call?: CallOptions) =>
      repeatable(call, {
        name: 'conversations.delete',
        ...del`${at(pair)}`,
        problem: pairProblem(pair),
        read: nothing,
      }),
  };
}

function at({ line, number }: Thread | Pair): Path {
  return path`/sms/conversations/${normalizeNumber(line)}/${normalizeNumber(number)}`;
}

function threadProblem({ line, number }: Thread | Pair): string | undefined {
  return numberProblem('line', line) ?? numberProblem('number', number);
}

function pairProblem(pair: Thread | Pair): string | undefined {
  if (pair.groupParticipants === undefined) return threadProblem(pair);
  return 'only a read can name `groupParticipants`: this would change the conversation of the two parties (section 4.2)';
}

const readState = one('conversation', conversationState);

const readThread: Read<ThreadRead> = (data, report) => {
  const object = requiredObject(data, 'data');
  return {
    line: optional(object, 'line', text, report),
    number: optional(object, 'number', text, report),
    messages: requiredRows(object.messages, message, report, 'messages'),
    markedRead: optional(object, 'markedRead', flag, report),
  };
};

/** Section 4.1: the one operation that costs money. */
export function createMessages({ once }: Transport) {
  return {
    /**
     * Scope sms:send; an OAuth user needs the permission Phone numbers, and `from` must be one of
     * theirs. Bills the account: status 201 is sent and charged; 200 means every recipient was skipped, at no charge.
     *
     * At most one request leaves, whatever comes back. A `ServiceError` with effect `none` proves that nothing was sent
     * or charged. With effect `unknown` and the advice `reconcile` (a timeout, a broken connection, an answer that is
     * not the service's own) the message may have been sent: read the thread to find out, and never send it again for
     * that reason.
     *
     * A request over a limit of section 8 is refused locally with `invalid_request`. The service refuses a `from` that
     * is not yours or has no SMS with `permission_denied`, and a destination without a rate with `invalid_request`
     * (422). `skipped[].to` holds a recipient as given here; the service skips one that is no phone number as
     * `invalid`.
     */
    send: (request: SendRequest, call?: CallOptions): Promise<Answer<Sent>> =>
      once(call, {
        name: 'messages.send',
        ...post`/sms/messages`,
        body: sendBody(request),
        problem: sendProblem(request),
        failsClean: true,
        read: one('sent', sent),
      }),
  };
}

export type Messages = ReturnType<typeof createMessages>;
