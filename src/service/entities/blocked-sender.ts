import { type Entity, fields } from '../answers/fields.ts';
import { instant, name, text } from '../answers/values.ts';

const shape = { line: text, number: name, reason: text, blockedAt: instant };

/** A number that a line takes nothing from and delivers nothing to (section 2.7). It is never shown the reason. */
export type BlockedSender = Entity<typeof shape, 'number'>;

export const blockedSender = fields(shape, { identity: ['number'] });
