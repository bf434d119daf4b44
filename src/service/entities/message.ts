import { type Entity, fields } from '../answers/fields.ts';
import { flag, id, instant, integer, list, messageDirection, text } from '../answers/values.ts';

/** A carrier's receipt (section 2.6): its words are the carrier's own. */
const deliveryShape = { status: text, error: text, at: instant };

const shape = {
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
export type Message = Entity<typeof shape, 'id'>;

const always = ['direction', 'from', 'to', 'text', 'sentAt', 'read'] as const;

export const message = fields(shape, { identity: ['id'], always: [...always] });

/** Whether a message came without something that others have. A picture needs no words, and what is scheduled was not sent. */
export function isLacking(given: Message): boolean {
  return always.some((name) => {
    if (name === 'text' && (given.media?.length ?? 0) > 0) return false;
    if (name === 'sentAt' && given.scheduled === true) return false;
    return given[name] === undefined;
  });
}
