import { eventTypes } from '../../event-types.ts';
import { type Entity, fields } from '../answers/fields.ts';
import { flag, instant, integer, text, word } from '../answers/values.ts';

const shape = {
  id: integer,
  name: text,
  description: text,
  url: text,
  type: word(...eventTypes),
  enabled: flag,
  createdAt: instant,
  updatedAt: instant,
};

/** A webhook subscription (section 2.12). `url` holds the token of our receiver: treat it as a secret. */
export type Subscription = Entity<typeof shape, 'id'>;

export const subscription = fields(shape, { identity: ['id'] });
