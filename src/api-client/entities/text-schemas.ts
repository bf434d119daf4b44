import type { Read } from '../answers/envelope.ts';
import { entity, fields, optional, requiredObject, requiredRows, rows, type ValueOf } from '../answers/fields.ts';
import { count, decimal, flag, id, instant, list, messageDirection, name, text, word } from '../answers/values.ts';

export const message = entity('id', {
  id,
  direction: messageDirection,
  from: text,
  to: text,
  text,
  media: list(text),
  sentAt: instant,
  read: flag,
  readBy: list(id),
  sentBy: id,
  // A carrier's receipt: its words are the carrier's own.
  delivery: fields({ status: text, error: text, at: instant }),
  groupParticipants: list(text),
  scheduled: flag,
  scheduledAt: instant,
  blocked: flag,
  blockReason: text,
});

/** A message of a thread (section 2.6). `media` are secrets. */
export type Message = ValueOf<typeof message>;

/** A page of a thread. The order of its messages isn't specified. */
export interface ThreadRead {
  line?: string | undefined;
  number?: string | undefined;
  messages: readonly Message[];
  markedRead?: boolean | undefined;
}

export const threadRead: Read<ThreadRead> = (data, report) => {
  const object = requiredObject(data, 'data');
  return {
    line: optional(object, 'line', text, report),
    number: optional(object, 'number', text, report),
    messages: requiredRows(object.messages, message, report, 'messages'),
    markedRead: optional(object, 'markedRead', flag, report),
  };
};

export const conversationState = fields({
  line: text,
  number: text,
  resolved: flag,
  resolvedBy: id,
  resolvedAt: instant,
});

/**
 * A conversation's state after a change (section 2.5). `resolvedBy` is undefined if an integration resolved it without
 * naming anybody. The assignee isn't reported.
 */
export type ConversationState = ValueOf<typeof conversationState>;

const kind = word('sms', 'mms');

/** What a send cost (sections 2.3 and 2.4): prices in `currency`, which is USD; `units` are segments, or 1 for mms. */
const billing = fields({
  billed: flag,
  currency: text,
  type: kind,
  units: count,
  totalPrice: decimal,
  recipientCount: count,
  skippedCount: count,
});

const sentMessage = fields({
  id,
  to: list(text),
  type: kind,
  status: text,
  media: list(text),
  units: count,
  unitPrice: decimal,
  price: decimal,
});

/** A recipient that was dropped and not charged (section 2.3). `opted_out` can't be overridden. */
const skipped = fields({ to: text, reason: word('opted_out', 'duplicate', 'invalid') });

/**
 * A message that the carrier's gateway accepted (section 2.3). `id` is undefined when the gateway returned none. Anyone
 * can fetch the addresses in `media`: treat them as secrets.
 */

export const sent = fields({
  from: text,
  billing,
  messages: rows(sentMessage),
  skipped: rows(skipped),
});

/**
 * The outcome of a send (section 2.3). No field is required: no deviation of the answer may make a charged send look
 * like a failed one.
 */
export type Sent = ValueOf<typeof sent>;

export const line = entity('number', { number: name, name: text, userIds: list(id), bulkEnabled: flag });

/** An SMS line (section 2.1). Empty `userIds` means that every user may use it; `undefined` means not reported. */
export type Line = ValueOf<typeof line>;

export const unreadCounts = entity('lines', { total: count, lines: rows(entity('line', { line: name, count })) });

/** Unread messages of the listed lines, and their sum (section 2.7). */
export type UnreadCounts = ValueOf<typeof unreadCounts>;

export const blockedSender = entity('number', { line: text, number: name, reason: text, blockedAt: instant });

/**
 * A number to which a line sends no texts (section 2.7). Its own texts still arrive, and its owner never sees the
 * reason.
 */

export const draft = entity('draftId', { draftId: name, message: text });

/** A draft under the key that its writer chose (section 2.7). */

export const template = entity('id', { id, title: text, body: text });

/** A saved reply (section 2.7). */
