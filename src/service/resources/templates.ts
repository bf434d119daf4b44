import { type Answer, nothing } from '../answers/envelope.ts';
import { requiredEntity } from '../answers/fields.ts';
import { type Template, template } from '../entities/saved-text.ts';
import { idFault } from '../requests/identifiers.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

export interface NewTemplate {
  title: string;
  body: string;
}

/** Section 4.4: saved replies. Scope sms:write; they need a user's credential, an API key is refused (section 5.3). */
export interface Templates {
  /** `POST /sms/templates`. Never repeated: two would stand. */
  create(template: NewTemplate, call?: CallOptions): Promise<Answer<Template>>;
  /** `DELETE /sms/templates/{id}`, of the calling user's own. `not_found` when there is none, unless an earlier try of this call may have deleted it. */
  delete(id: number, call?: CallOptions): Promise<Answer<void>>;
}

export function createTemplates(transport: Transport): Templates {
  return {
    create: ({ title, body }, call) =>
      transport.once(
        {
          name: 'templates.create',
          method: 'POST',
          path: path`/sms/templates`,
          body: { title, body },
          read: (data, reading) => requiredEntity(data, template, reading, 'template'),
        },
        call,
      ),
    delete: (id, call) =>
      transport.repeatable(
        {
          name: 'templates.delete',
          method: 'DELETE',
          path: path`/sms/templates/${id}`,
          fault: idFault('id', id),
          read: nothing,
        },
        call,
      ),
  };
}
