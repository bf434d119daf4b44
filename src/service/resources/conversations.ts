import { normalizeNumber } from '../../numbers.ts';
import { type Answer, nothing, type Read } from '../answers/envelope.ts';
import { optional, requiredEntity, requiredObject, requiredRows } from '../answers/fields.ts';
import { flag, text } from '../answers/values.ts';
import { type ConversationState, conversationState } from '../entities/conversation.ts';
import { type Message, message } from '../entities/message.ts';
import { idFault, idInJson, messageIdsFault, type ObjectId } from '../requests/identifiers.ts';
import { numberFault } from '../requests/numbers.ts';
import { commentFault } from '../requests/texts.ts';
import { pageFault } from '../requests/windows.ts';
import { below, type Path, path } from '../transport/address.ts';
import type { CallOptions, Operation, Transport } from '../transport/transport.ts';

/** A conversation has no id: it is the pair of our line and their number, or of our line and a group (section 2.5). */
export interface Thread {
  line: string;
  number: string;
  groupParticipants?: readonly string[] | undefined;
}

/** A conversation of two parties. Only a read can name a group: changes would meet the pair instead (section 4.2). */
export interface Pair {
  line: string;
  number: string;
  groupParticipants?: never;
}

export interface ThreadPage {
  /** The allowed range is not specified; out of it is `invalid_request`. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** Marks the returned messages read for the calling user. Nothing but true is ever sent. */
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
 * `permission_denied` otherwise. Numbers may be formatted. What stands twice when it is done twice is never repeated: its
 * errors say whether it can have happened.
 */
export interface Conversations {
  /** `GET /sms/conversations/{line}/{number}`, scope messages:read. */
  read(thread: Thread, page?: ThreadPage, call?: CallOptions): Promise<Answer<ThreadRead>>;
  /**
   * `POST …/resolve`, scope sms:write. A resolved thread stays as it is. With a `comment` it is never repeated, or the
   * note would stand twice: when in doubt, resolve again without it. `invalid_request` for a `resolvedBy` that is no user.
   */
  resolve(pair: Pair, resolution?: Resolution, call?: CallOptions): Promise<Answer<ConversationState>>;
  /** `POST …/comments`, scope sms:write: adds an internal note and changes nothing else. Never repeated. */
  comment(pair: Pair, comment: string, call?: CallOptions): Promise<Answer<ConversationState>>;
  /**
   * `POST …/assign`, scope sms:write: to a user, or with null to nobody. Whether it is resolved stays as it is.
   * `invalid_request` for a user who is not on the account.
   */
  assign(pair: Pair, userId: number | null, call?: CallOptions): Promise<Answer<ConversationState>>;
  /** `POST …/reopen`, scope sms:write: succeeds also when it was never resolved. */
  reopen(pair: Pair, call?: CallOptions): Promise<Answer<ConversationState>>;
  /** `POST …/read`, scope messages:write: for the calling user alone. */
  markMessages(pair: Pair, marks: ReadMarks, call?: CallOptions): Promise<Answer<void>>;
  /**
   * `DELETE …/messages/{id}`, scope messages:write: for good. `permission_denied` also where the account restricts
   * deleting. `not_found` unless an earlier try of this call may have deleted it.
   */
  deleteMessage(pair: Pair, id: ObjectId, call?: CallOptions): Promise<Answer<void>>;
  /** `DELETE …`, scope messages:write: destroys every message of the thread, refused as `deleteMessage` is. */
  delete(pair: Pair, call?: CallOptions): Promise<Answer<void>>;
}

export function createConversations(transport: Transport): Conversations {
  return {
    read: (thread, page = {}, call) =>
      transport.repeatable(
        {
          name: 'conversations.read',
          method: 'GET',
          path: at(thread),
          query: {
            groupParticipants: thread.groupParticipants?.join(','),
            limit: page.limit,
            offset: page.offset,
            markRead: page.markRead === true ? true : undefined,
          },
          fault: threadFault(thread) ?? pageFault(page),
          read: readThread,
        },
        call,
      ),
    resolve: (pair, { resolvedBy, comment } = {}, call) => {
      const userFault = resolvedBy === undefined ? undefined : idFault('resolvedBy', resolvedBy);
      const operation = post('conversations.resolve', pair, path`/resolve`, readState, {
        body: resolvedBy === undefined && comment === undefined ? undefined : { resolvedBy, comment },
        fault: userFault ?? commentFault(comment),
      });
      return comment === undefined ? transport.repeatable(operation, call) : transport.once(operation, call);
    },
    comment: (pair, comment, call) => {
      const more = { body: { comment }, fault: commentFault(comment) };
      return transport.once(post('conversations.comment', pair, path`/comments`, readState, more), call);
    },
    assign: (pair, userId, call) => {
      const more = { body: { userId }, fault: userId === null ? undefined : idFault('userId', userId) };
      return transport.repeatable(post('conversations.assign', pair, path`/assign`, readState, more), call);
    },
    reopen: (pair, call) => transport.repeatable(post('conversations.reopen', pair, path`/reopen`, readState), call),
    markMessages: (pair, { messageIds, read }, call) => {
      const more = { body: { messageIds: messageIds.map(idInJson), read }, fault: messageIdsFault(messageIds) };
      return transport.repeatable(post('conversations.markMessages', pair, path`/read`, nothing, more), call);
    },
    deleteMessage: (pair, id, call) => {
      const address = below(at(pair), path`/messages/${id}`);
      return transport.repeatable(
        remove('conversations.deleteMessage', address, pairFault(pair) ?? idFault('id', id)),
        call,
      );
    },
    delete: (pair, call) => transport.repeatable(remove('conversations.delete', at(pair), pairFault(pair)), call),
  };
}

function at({ line, number }: Thread | Pair): Path {
  return path`/sms/conversations/${normalizeNumber(line)}/${normalizeNumber(number)}`;
}

function post<T>(
  name: string,
  pair: Pair,
  what: Path,
  read: Read<T>,
  { body, fault }: { body?: unknown; fault?: string | undefined } = {},
): Operation<T> {
  return { name, method: 'POST', path: below(at(pair), what), body, fault: pairFault(pair) ?? fault, read };
}

function remove(name: string, address: Path, fault: string | undefined): Operation<void> {
  return { name, method: 'DELETE', path: address, fault, read: nothing };
}

function threadFault({ line, number }: Thread | Pair): string | undefined {
  return numberFault('line', line) ?? numberFault('number', number);
}

function pairFault(pair: Thread | Pair): string | undefined {
  if (pair.groupParticipants === undefined) return threadFault(pair);
  return 'only a read can name `groupParticipants`: this would meet the conversation of the two parties (section 4.2)';
}

const readState: Read<ConversationState> = (data, reading) =>
  requiredEntity(data, conversationState, reading, 'conversation');

const readThread: Read<ThreadRead> = (data, reading) => {
  const object = requiredObject(data, 'data');
  return {
    line: optional(object, 'line', text, reading),
    number: optional(object, 'number', text, reading),
    messages: requiredRows(object.messages, message, reading, 'messages'),
    markedRead: optional(object, 'markedRead', flag, reading),
  };
};
