import { z } from 'zod';
import type { Context } from '../../context.ts';
import { requireUser } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { notFound } from '../../http/errors.ts';
import { dataOf, idPath, nothing } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';

const fields = { title: z.string(), body: z.string() };

/** Section 2.7. */
const template = z.object({ id: z.int(), ...fields }).meta({ id: 'Template' });

const tags = tag('4.4');

/** Saved replies (4.4): a user saves them, and may delete their own. */
export function templateRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  const { templates } = store;

  api.post(
    '/sms/templates',
    {
      config: { scope: 'sms:write', needsUser: true },
      schema: {
        operationId: 'createTemplate',
        summary: 'Save a reply',
        tags,
        body: z.strictObject(fields),
        response: { 201: dataOf(template) },
      },
    },
    (request, reply) => {
      const { title, body } = request.body;
      const { id } = templates.put({
        id: templates.highestKey() + 1,
        userId: requireUser(request).user.id,
        title,
        body,
      });
      reply.code(201);
      return { data: { id, title, body } };
    },
  );

  api.delete(
    '/sms/templates/:id',
    {
      config: { scope: 'sms:write', needsUser: true },
      schema: {
        operationId: 'deleteTemplate',
        summary: 'Remove a saved reply',
        tags,
        params: idPath,
        response: { 204: nothing },
      },
    },
    (request, reply) => {
      const { id } = request.params;
      const { user } = requireUser(request);
      if (templates.get(id)?.userId !== user.id) throw notFound(`the saved reply ${id}`);
      templates.delete(id);
      reply.code(204).send();
    },
  );
}
