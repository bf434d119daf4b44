import { nothing } from '../answers/envelope.ts';
import { one } from '../answers/fields.ts';
import { draft, template } from '../entities/texts.ts';
import { draftIdProblem, idProblem, type ObjectId } from '../requests/parameters.ts';
import { type CallOptions, del, post, put } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Section 4.4: unfinished texts, each under a key of 1 to 128 characters that the writer chooses. Scope sms:write; a
 * draft that belongs to a line also needs the permission Phone numbers (section 5.2).
 */
export function createDrafts({ repeatable }: Transport) {
  return {
    /** Creates or overwrites; an empty message is allowed. */
    put: (draftId: string, message: string, call?: CallOptions) =>
      repeatable(call, {
        name: 'drafts.put',
        ...put`/sms/drafts/${draftId}`,
        body: { message },
        problem: draftIdProblem(draftId),
        read: one('draft', draft),
      }),
    /** Also succeeds when there is no such draft. */
    delete: (draftId: string, call?: CallOptions) => {
      const problem = draftIdProblem(draftId);
      return repeatable(call, { name: 'drafts.delete', ...del`/sms/drafts/${draftId}`, problem, read: nothing });
    },
  };
}

/** Section 4.4: saved replies. Scope sms:write; the service refuses an API key here (section 5.3). */
export function createTemplates({ repeatable, once }: Transport) {
  return {
    /** Never repeated: that would store a second one. */
    create: (body: { title: string; body: string }, call?: CallOptions) =>
      once(call, { name: 'templates.create', ...post`/sms/templates`, body, read: one('template', template) }),
    /** One of the calling user's own. `not_found` unless an earlier try of this call may have deleted it. */
    delete: (id: ObjectId, call?: CallOptions) => {
      const problem = idProblem('id', id);
      return repeatable(call, { name: 'templates.delete', ...del`/sms/templates/${id}`, problem, read: nothing });
    },
  };
}
