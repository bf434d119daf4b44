import { z } from 'zod';
import { eventTypes, type Subscription } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, idPath } from '../http/api.ts';
import { ApiError, notFound } from '../http/errors.ts';
import { rfc3339 } from '../time.ts';

const eventType = z.enum(eventTypes);
const listQuery = z.object({
  type: eventType.optional(),
  enabled: z.enum(['true', 'false']).optional(),
});

const fields = {
  name: z.string(),
  description: z.string(),
  url: z.string().max(1024).refine(isHttpUrl, 'must be an http or https address'),
  type: eventType,
  enabled: z.boolean(),
};
const createBody = z.strictObject({
  ...fields,
  name: fields.name.default(''),
  description: fields.description.default(''),
  enabled: fields.enabled.default(true),
});
const changeBody = z.strictObject(fields).partial();

const read = { scope: 'webhooks:read' } as const;
const write = { scope: 'webhooks:write' } as const;

/**
 * Webhook subscriptions (4.7). Create, read one, enable, delete and the list of types are assumed: the specification
 * doesn't show them.
 */
export function webhookRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { subscriptions } = store;

  function requireSubscription(id: number): Subscription {
    const subscription = subscriptions.get(id);
    if (subscription === undefined) throw notFound(`the subscription ${id}`);
    return subscription;
  }

  function change(id: number, changes: z.output<typeof changeBody>) {
    const subscription = requireSubscription(id);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    const changed = { ...subscription, ...given, updatedAt: rfc3339(now().getTime()) };
    return { data: subscriptions.put(changed) };
  }

  api.get('/webhooks', {
    config: read,
    schema: { operationId: 'listWebhooks', querystring: listQuery },
    handler: ({ query: { type, enabled } }) => {
      if (enabled === 'false') throw new ApiError(400, 'unsupported', 'only enabled=true is supported');
      const listed = subscriptions
        .values()
        .filter((subscription) => type === undefined || subscription.type === type)
        .filter((subscription) => enabled === undefined || subscription.enabled);
      return { data: listed };
    },
  });

  api.get('/webhooks/types', {
    config: read,
    schema: { operationId: 'listWebhookTypes' },
    handler: () => ({ data: [...eventTypes] }),
  });

  api.get('/webhooks/:id', {
    config: read,
    schema: { operationId: 'getWebhook', params: idPath },
    handler: ({ params }) => ({ data: requireSubscription(params.id) }),
  });

  api.post('/webhooks', {
    config: write,
    schema: { operationId: 'createWebhook', body: createBody },
    handler: ({ body }, reply) => {
      const at = rfc3339(now().getTime());
      const id = Math.max(900, subscriptions.highestKey()) + 1;
      reply.code(201);
      return { data: subscriptions.put({ id, ...body, createdAt: at, updatedAt: at }) };
    },
  });

  for (const method of ['PUT', 'PATCH'] as const) {
    api.route({
      method,
      url: '/webhooks/:id',
      config: write,
      schema: { operationId: method === 'PUT' ? 'updateWebhook' : 'patchWebhook', params: idPath, body: changeBody },
      handler: ({ params, body }) => change(params.id, body),
    });
  }

  for (const [verb, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    api.post(`/webhooks/:id/${verb}`, {
      config: write,
      schema: { operationId: `${verb}Webhook`, params: idPath },
      handler: ({ params }) => change(params.id, { enabled }),
    });
  }

  api.delete('/webhooks/:id', {
    config: write,
    schema: { operationId: 'deleteWebhook', params: idPath },
    handler: ({ params }, reply) => {
      subscriptions.delete(requireSubscription(params.id).id);
      reply.code(204).send();
    },
  });
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
