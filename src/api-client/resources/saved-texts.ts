import { nothing } from '../answers/envelope.ts';
import { requiredEntity } from '../answers/fields.ts';
import { draft, template } from '../entities/texts.ts';
import { draftIdProblem, idProblem } from '../requests/parameters.ts';
import { type CallOptions, path } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Section 4.4: unfinished texts, each under a key of 1 to 128 characters that the writer chooses. Scope sms:write; a
 * draft that belongs to a line also needs the permission Phone numbers (section 5.2).
 */
export function createDrafts({ repeatable }: Transport) {
  return {
    /** `PUT /sms/drafts/{draftId}`: creates or overwrites; an empty message is allowed. */
    put: (draftId: string, message: string, call?: CallOptions) =>
      repeatable(call, {
        name: 'drafts.put',
        method: 'PUT',
        path: path`/sms/drafts/${draftId}`,
        body: { message },
        problem: draftIdProblem(draftId),
        read: (data, report) => requiredEntity(data, draft, report, 'draft'),
      }),
    /** `DELETE /sms/drafts/{draftId}`: also succeeds when there is no such draft. */
    delete: (draftId: string, call?: CallOptions) =>
      repeatable(call, {
        name: 'drafts.delete',
        method: 'DELETE',
        path: path`/sms/drafts/${draftId}`,
        problem: draftIdProblem(draftId),
        read: nothing,
      }),
  };
}

/** Section 4.4: saved replies. Scope sms:write; the service refuses an API key here (section 5.3). */
export function createTemplates({ repeatable, once }: Transport) {
  return {
    /** `POST /sms/templates`. Never repeated: that would store a second one. */
    create: ({ title, body }: { title: string; body: string }, call?: CallOptions) =>
      once(call, {
        name: 'templates.create',
        method: 'POST',
        path: path`/sms/templates`,
        body: { title, body },
        read: (data, report) => requiredEntity(data, template, report, 'template'),
      }),
    /**
     * `DELETE /sms/templates/{id}`, of the calling user's own. `not_found` when there is none, unless an earlier try of
     * this call may have deleted it.
     */
    delete: (id: number, call?: CallOptions) =>
      repeatable(call, {
        name: 'templates.delete',
        method: 'DELETE',
        path: path`/sms/templates/${id}`,
        problem: idProblem('id', id),
        read: nothing,
      }),
  };
}
