import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { eventTypes, type Subscription } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Context } from '../context.ts';
import { ApiError, invalidRequest, notFound } from '../http/errors.ts';
import { validate } from '../http/validation.ts';
import { subscriptionResource } from '../resources/subscriptions.ts';

interface SubscriptionPath {
  Params: { id: string };
}

const eventType = z.enum(eventTypes);
const listQuery = z.object({ type: eventType.optional(), enabled: z.enum(['true', 'false']).optional() });

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
  enabled: fields.enabled.default(assumptions.createdEnabled),
});
const changeBody = z.strictObject(fields).partial();

/** Webhook subscriptions (4.7). Create, read one, enable, delete and the list of types are assumptions. */
export function webhookRoutes(app: FastifyInstance, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { subscriptions } = store;
  const read = { config: { scope: 'webhooks:read' as const } };
  const write = { config: { scope: 'webhooks:write' as const } };

  function requireSubscription(id: string): Subscription {
    if (!/^\d{1,15}$/.test(id))
      throw invalidRequest(`the subscription id must be an integer, got ${JSON.stringify(id)}`);
    const subscription = subscriptions.get(Number(id));
    if (subscription === undefined) throw notFound(`the subscription ${id}`);
    return subscription;
  }

  function change(id: string, changes: z.output<typeof changeBody>): object {
    const subscription = requireSubscription(id);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    const changed = { ...subscription, ...given, updatedAt: now().getTime() };
    return { data: subscriptionResource(subscriptions.put(changed)) };
  }

  app.get('/webhooks', read, ({ query }) => {
    const { type, enabled } = validate(listQuery, query, 'query');
    if (enabled === 'false') throw new ApiError(400, 'unsupported', 'only enabled=true is supported');
    const listed = subscriptions
      .values()
      .filter((subscription) => type === undefined || subscription.type === type)
      .filter((subscription) => enabled === undefined || subscription.enabled);
    return { data: listed.map(subscriptionResource) };
  });

  app.get('/webhooks/types', read, () => ({ data: eventTypes }));

  app.get<SubscriptionPath>('/webhooks/:id', read, ({ params }) => ({
    data: subscriptionResource(requireSubscription(params.id)),
  }));

  app.post('/webhooks', write, ({ body }, reply) => {
    const at = now().getTime();
    const id = Math.max(900, subscriptions.highestKey()) + 1;
    const created: Subscription = { id, ...validate(createBody, body), createdAt: at, updatedAt: at };
    reply.code(201);
    return { data: subscriptionResource(subscriptions.put(created)) };
  });

  app.route<SubscriptionPath>({
    method: ['PUT', 'PATCH'],
    url: '/webhooks/:id',
    ...write,
    handler: ({ params, body }) => {
      requireSubscription(params.id);
      return change(params.id, validate(changeBody, body ?? {}));
    },
  });

  app.post<SubscriptionPath>('/webhooks/:id/disable', write, ({ params }) => change(params.id, { enabled: false }));
  app.post<SubscriptionPath>('/webhooks/:id/enable', write, ({ params }) => change(params.id, { enabled: true }));

  app.delete<SubscriptionPath>('/webhooks/:id', write, ({ params }, reply) => {
    subscriptions.delete(requireSubscription(params.id).id);
    return reply.code(204).send();
  });
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
