import { type Entity, fields, rows } from '../answers/fields.ts';
import {
  count,
  decimal,
  flag,
  id,
  instant,
  integer,
  list,
  messageDirection,
  name,
  text,
  word,
} from '../answers/values.ts';

/** A carrier's receipt (section 2.6): its words are the carrier's own. */
const deliveryShape = { status: text, error: text, at: instant };

const messageShape = {
  id,
  direction: messageDirection,
  from: text,
  to: text,
  text,
  media: list(text),
  sentAt: instant,
  read: flag,
  readBy: list(integer),
  sentBy: integer,
  delivery: fields(deliveryShape),
  groupParticipants: list(text),
  scheduled: flag,
  scheduledAt: instant,
  blocked: flag,
  blockReason: text,
};

/** A message of a thread (section 2.6). `media` are secrets. */
export type Message = Entity<typeof messageShape, 'id'>;

export const message = fields(messageShape, { identity: ['id'] });

const conversationShape = { line: text, number: text, resolved: flag, resolvedBy: integer, resolvedAt: instant };

/**
 * A conversation's state after a change (section 2.5). `resolvedBy` is undefined when an integration resolved it and
 * named nobody. The assignee is not reported.
 */
export type ConversationState = Entity<typeof conversationShape>;

export const conversationState = fields(conversationShape);

const kind = word('sms', 'mms');

/** What a send cost (sections 2.3 and 2.4): prices in `currency`, which is USD; `units` are segments, or 1 for mms. */
const billingShape = {
  billed: flag,
  currency: text,
  type: kind,
  units: count,
  totalPrice: decimal,
  recipientCount: count,
  skippedCount: count,
};

const sentMessageShape = {
  id,
  to: list(text),
  type: kind,
  status: text,
  media: list(text),
  units: count,
  unitPrice: decimal,
  price: decimal,
};

/** A recipient that was dropped and not charged (section 2.3). `opted_out` cannot be overridden. */
const skippedShape = { to: text, reason: word('opted_out', 'duplicate', 'invalid') };

/**
 * A message that the carrier's gateway accepted (section 2.3). `id` is undefined when the gateway returned none. Anyone
 * can fetch the addresses in `media`: treat them as secrets.
 */
export type SentMessage = Entity<typeof sentMessageShape>;

const sentShape = {
  from: text,
  billing: fields(billingShape),
  messages: rows(fields(sentMessageShape)),
  skipped: rows(fields(skippedShape)),
};

/**
 * The outcome of a send (section 2.3). No field is required, so that no deviation of the answer makes a charged send
 * look like a failed one.
 */
export type Sent = Entity<typeof sentShape>;

export const sent = fields(sentShape);

const lineShape = { number: name, name: text, userIds: list(integer), bulkEnabled: flag };

/** An SMS line (section 2.1). Empty `userIds` means that every user may use it; `undefined` means not reported. */
export type Line = Entity<typeof lineShape, 'number'>;

export const line = fields(lineShape, { identity: ['number'] });

const unreadLineShape = { line: name, count };

const unreadShape = { total: count, lines: rows(fields(unreadLineShape, { identity: ['line'] })) };

/** Unread messages of the listed lines, and their sum (section 2.7). */
export type UnreadCounts = Entity<typeof unreadShape, 'lines'>;

export const unreadCounts = fields(unreadShape, { identity: ['lines'] });

const blockedSenderShape = { line: text, number: name, reason: text, blockedAt: instant };

/** A number that a line has blocked in both directions (section 2.7). The number's owner never sees the reason. */
export type BlockedSender = Entity<typeof blockedSenderShape, 'number'>;

export const blockedSender = fields(blockedSenderShape, { identity: ['number'] });

const draftShape = { draftId: name, message: text };

/** A draft under the key that its writer chose (section 2.7). */
export type Draft = Entity<typeof draftShape, 'draftId'>;

export const draft = fields(draftShape, { identity: ['draftId'] });

const templateShape = { id: integer, title: text, body: text };

/** A saved reply (section 2.7). */
export type Template = Entity<typeof templateShape, 'id'>;

export const template = fields(templateShape, { identity: ['id'] });
