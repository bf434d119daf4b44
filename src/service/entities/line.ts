import { type Entity, fields } from '../answers/fields.ts';
import { flag, integer, list, name, text } from '../answers/values.ts';

const shape = { number: name, name: text, userIds: list(integer), bulkEnabled: flag };

/** An SMS line (section 2.1). Empty `userIds` means that every user may use it; `undefined` means not reported. */
export type Line = Entity<typeof shape, 'number'>;

export const line = fields(shape, { identity: ['number'] });
