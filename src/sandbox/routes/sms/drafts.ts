import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { dataOf, nothing } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';

/** Section 8; a character is a code point, whatever it takes in UTF-16. */
const longestId = 128;

const draftPath = z.object({
  draftId: z
    .string()
    .min(1)
    .refine((id) => [...id].length <= longestId, `must have at most ${longestId} characters`)
    .describe(`Chosen by the client, at most ${longestId} characters.`),
});

/** Section 2.7. */
const draft = z.object({ draftId: z.string(), message: z.string() }).meta({ id: 'Draft' });

const config = { scope: 'sms:write', permission: 'phoneNumbers' } as const;
const described = { tags: tag('4.4'), params: draftPath };

/** PUT and DELETE /sms/drafts/{draftId} (4.4). */
export function draftRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.put(
    '/sms/drafts/:draftId',
    {
      config,
      schema: {
        operationId: 'putDraft',
        summary: 'Create or overwrite a draft',
        ...described,
        body: z.strictObject({ message: z.string().describe('May be empty.') }),
        response: { 200: dataOf(draft) },
      },
    },
    ({ params: { draftId }, body: { message } }) => ({ data: store.drafts.put({ draftId, message }) }),
  );

  api.delete(
    '/sms/drafts/:draftId',
    {
      config,
      schema: {
        operationId: 'deleteDraft',
        summary: 'Remove a draft',
        description: 'Succeeds also when there is none.',
        ...described,
        response: { 204: nothing },
      },
    },
    ({ params }, reply) => {
      store.drafts.delete(params.draftId);
      reply.code(204).send();
    },
  );
}
