import { type Entity, fields } from '../answers/fields.ts';
import { integer, list, text } from '../answers/values.ts';

const shape = {
  id: integer,
  username: text,
  firstName: text,
  lastName: text,
  title: text,
  email: text,
  mobile: text,
  company: text,
  timeZone: text,
  extension: text,
  extensions: list(text),
  lines: list(text),
  numbers: list(text),
  voicemails: list(text),
};

/** A user of the account (section 2.8). */
export type User = Entity<typeof shape, 'id'>;

export const user = fields(shape, { identity: ['id'] });
