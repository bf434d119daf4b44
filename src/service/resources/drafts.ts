import { type Answer, nothing } from '../answers/envelope.ts';
import { requiredEntity } from '../answers/fields.ts';
import { type Draft, draft } from '../entities/saved-text.ts';
import { draftIdFault } from '../requests/identifiers.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

/**
 * Section 4.4: unfinished texts, each under a key of 1 to 128 characters that its writer chooses. Scope sms:write; of
 * roles, section 5.2 asks for Phone numbers where a draft belongs to a line.
 */
export interface Drafts {
  /** `PUT /sms/drafts/{draftId}`: creates or overwrites; an empty message is allowed. */
  put(draftId: string, message: string, call?: CallOptions): Promise<Answer<Draft>>;
  /** `DELETE /sms/drafts/{draftId}`: succeeds also when there is none. */
  delete(draftId: string, call?: CallOptions): Promise<Answer<void>>;
}

export function createDrafts(transport: Transport): Drafts {
  return {
    put: (draftId, message, call) =>
      transport.repeatable(
        {
          name: 'drafts.put',
          method: 'PUT',
          path: path`/sms/drafts/${draftId}`,
          body: { message },
          fault: draftIdFault(draftId),
          read: (data, reading) => requiredEntity(data, draft, reading, 'draft'),
        },
        call,
      ),
    delete: (draftId, call) =>
      transport.repeatable(
        {
          name: 'drafts.delete',
          method: 'DELETE',
          path: path`/sms/drafts/${draftId}`,
          fault: draftIdFault(draftId),
          read: nothing,
        },
        call,
      ),
  };
}
