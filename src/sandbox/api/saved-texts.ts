import { z } from 'zod';
import type { Context } from '../context.ts';
import { type Api, idPath } from '../http/api.ts';
import { requireUser } from '../http/auth.ts';
import { notFound } from '../http/errors.ts';

/** Section 8; in code points. */
const maxIdLength = 128;

const draftPath = z.object({
  draftId: z
    .string()
    .min(1)
    .refine((id) => [...id].length <= maxIdLength, `must have at most ${maxIdLength} characters`),
});

const config = { scope: 'sms:write', permission: 'phoneNumbers' } as const;

/** PUT and DELETE /sms/drafts/{draftId} (4.4). */
export function draftRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.put('/sms/drafts/:draftId', {
    config,
    schema: {
      operationId: 'putDraft',
      params: draftPath,
      body: z.strictObject({ message: z.string() }),
    },
    handler: ({ params: { draftId }, body: { message } }) => ({ data: store.drafts.put({ draftId, message }) }),
  });

  api.delete('/sms/drafts/:draftId', {
    config,
    schema: { operationId: 'deleteDraft', params: draftPath },
    handler: ({ params }, reply) => {
      store.drafts.delete(params.draftId);
      reply.code(204).send();
    },
  });
}

/** Saved replies (4.4). Users save replies and may delete their own. */
export function templateRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  const { templates } = store;

  api.post('/sms/templates', {
    config: { scope: 'sms:write', needsUser: true },
    schema: {
      operationId: 'createTemplate',
      body: z.strictObject({ title: z.string(), body: z.string() }),
    },
    handler: (request, reply) => {
      const template = { id: templates.highestKey() + 1, ...request.body };
      templates.put({ ...template, userId: requireUser(request).user.id });
      reply.code(201);
      return { data: template };
    },
  });

  api.delete('/sms/templates/:id', {
    config: { scope: 'sms:write', needsUser: true },
    schema: { operationId: 'deleteTemplate', params: idPath },
    handler: (request, reply) => {
      const { id } = request.params;
      const { user } = requireUser(request);
      if (templates.get(id)?.userId !== user.id) throw notFound(`the saved reply ${id}`);
      templates.delete(id);
      reply.code(204).send();
    },
  });
}
