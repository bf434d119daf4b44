import { type Entity, fields, rows } from '../answers/fields.ts';
import { count, decimal, flag, id, list, text, word } from '../answers/values.ts';

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

const messageShape = {
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
 * A message that the carrier's gateway took (section 2.3). `id` is undefined when the gateway returned none; `media` are
 * addresses that anyone can fetch: treat them as secrets.
 */
export type SentMessage = Entity<typeof messageShape>;

const shape = {
  from: text,
  billing: fields(billingShape),
  messages: rows(fields(messageShape)),
  skipped: rows(fields(skippedShape)),
};

/**
 * What became of a send (section 2.3). Nothing in it is required, so that no oddity of the answer can make a send that
 * was charged look like one that failed.
 */
export type Sent = Entity<typeof shape>;

export const sent = fields(shape);
