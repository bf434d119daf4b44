import type { Answer } from '../answers/envelope.ts';
import { optional, requiredObject, requiredRows } from '../answers/fields.ts';
import type { Reading } from '../answers/reading.ts';
import { flag, text } from '../answers/values.ts';
import { type Message, message } from '../entities/message.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

/** A conversation has no id: it is the pair of our line and their number, or of our line and a group (section 2.5). */
export interface Thread {
  line: string;
  number: string;
  groupParticipants?: readonly string[];
}

export interface ThreadPage {
  /** The allowed range is not specified; out of it is `invalid_request`. */
  limit?: number;
  offset?: number;
  /** Marks the returned messages read for the calling user. Nothing but true is ever sent. */
  markRead?: true;
}

/** Messages as the service ordered them: their order is not specified. */
export interface ThreadRead {
  line?: string | undefined;
  number?: string | undefined;
  messages: readonly Message[];
  markedRead?: boolean | undefined;
}

/** Section 4.2: text conversations. */
export interface Conversations {
  /** `GET /sms/conversations/{line}/{number}`, scope messages:read. */
  read(thread: Thread, page?: ThreadPage, call?: CallOptions): Promise<Answer<ThreadRead>>;
}

export function createConversations(transport: Transport): Conversations {
  return {
    read: (thread, page = {}, call) =>
      transport.repeatable(
        {
          name: 'conversations.read',
          method: 'GET',
          path: path`/sms/conversations/${thread.line}/${thread.number}`,
          query: {
            groupParticipants: thread.groupParticipants?.join(','),
            limit: page.limit,
            offset: page.offset,
            markRead: page.markRead === true ? true : undefined,
          },
          read: readThread,
        },
        call,
      ),
  };
}

function readThread(data: unknown, reading: Reading): ThreadRead {
  const object = requiredObject(data, 'data');
  return {
    line: optional(object, 'line', text, reading),
    number: optional(object, 'number', text, reading),
    messages: requiredRows(object.messages, message, reading, 'messages'),
    markedRead: optional(object, 'markedRead', flag, reading),
  };
}
