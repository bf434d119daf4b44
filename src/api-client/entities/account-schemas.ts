import { eventTypes } from '../../shared/event-types.ts';
import { entity, type ValueOf } from '../answers/fields.ts';
import { type Field, flag, id, instant, list, name, text, word } from '../answers/values.ts';

export const user = entity('id', {
  id,
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
});

/** A user of the account (section 2.8). */
export type User = ValueOf<typeof user>;

export const subscription = entity('id', {
  id,
  name: text,
  description: text,
  url: text,
  type: word(...eventTypes),
  enabled: flag,
  createdAt: instant,
  updatedAt: instant,
});

/** A webhook subscription (section 2.12). `url` holds the token of our receiver: treat it as a secret. */
export type Subscription = ValueOf<typeof subscription>;

/** An event type: its name, or an object with the name in `type` or `name`. Section 4.7 doesn't show the shape. */
export const typeName: Field<string> = (value, report, parent, key) => {
  if (typeof value !== 'object' || value === null) return name(value, report, parent, key);
  const { type, name: called } = value as Record<string, unknown>;
  return name(type ?? called ?? value, report, parent, key);
};
