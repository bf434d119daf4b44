import { type Entity, fields } from '../answers/fields.ts';
import { flag, instant, integer, text } from '../answers/values.ts';

const shape = { line: text, number: text, resolved: flag, resolvedBy: integer, resolvedAt: instant };

/**
 * A conversation's state after a change (section 2.5). `resolvedBy` is undefined when an integration resolved it and
 * named nobody. Whom it is assigned to is another matter, and not reported.
 */
export type ConversationState = Entity<typeof shape>;

export const conversationState = fields(shape);
