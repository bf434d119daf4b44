import { type Entity, fields } from '../answers/fields.ts';
import { integer, name, text } from '../answers/values.ts';

const draftShape = { draftId: name, message: text };

/** A draft under the key that its writer chose (section 2.7). */
export type Draft = Entity<typeof draftShape, 'draftId'>;

export const draft = fields(draftShape, { identity: ['draftId'] });

const templateShape = { id: integer, title: text, body: text };

/** A saved reply (section 2.7). */
export type Template = Entity<typeof templateShape, 'id'>;

export const template = fields(templateShape, { identity: ['id'] });
