import { type Entity, fields, rows } from '../answers/fields.ts';
import { count, name } from '../answers/values.ts';

const lineShape = { line: name, count };

const shape = { total: count, lines: rows(fields(lineShape, { identity: ['line'] })) };

/** Unread messages of the listed lines, and their sum (section 2.7). */
export type UnreadCounts = Entity<typeof shape, 'lines'>;

export const unreadCounts = fields(shape, { identity: ['lines'] });
