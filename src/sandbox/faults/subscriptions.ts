import { z } from 'zod';
import { eventTypes, type Subscription } from '../account.ts';
import type { Context } from '../context.ts';
import { notFound } from '../http/errors.ts';

/** What a service may do to a subscription without being asked. */
export const subscriptionFault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('disabled') }).describe('It is disabled.'),
  z.strictObject({ kind: z.literal('deleted') }).describe('It is gone.'),
  z
    .strictObject({ kind: z.literal('retyped'), type: z.enum(eventTypes).optional() })
    .describe('It fires on events of another type; by default the next in the list.'),
  z
    .strictObject({ kind: z.literal('redirected'), url: z.url().max(1024).default('https://elsewhere.invalid/hooks') })
    .describe('It points elsewhere.'),
  z.strictObject({ kind: z.literal('duplicated') }).describe('It stands twice.'),
]);

export type SubscriptionFault = z.output<typeof subscriptionFault>;
export type SubscriptionFaultInput = z.input<typeof subscriptionFault>;

/** Does it. Returns the subscription as it is now, or the copy of it; null when it is gone. 404 for an unknown id. */
export function strikeSubscription(
  { store, now }: Pick<Context, 'store' | 'now'>,
  id: number,
  fault: SubscriptionFault,
): Subscription | null {
  const { subscriptions } = store;
  const subscription = subscriptions.get(id);
  if (subscription === undefined) throw notFound(`the subscription ${id}`);
  const changed = { ...subscription, updatedAt: now().getTime() };
  switch (fault.kind) {
    case 'disabled':
      return subscriptions.put({ ...changed, enabled: false });
    case 'deleted':
      subscriptions.delete(id);
      return null;
    case 'retyped': {
      const next = eventTypes[(eventTypes.indexOf(subscription.type) + 1) % eventTypes.length];
      return subscriptions.put({ ...changed, type: fault.type ?? next ?? subscription.type });
    }
    case 'redirected':
      return subscriptions.put({ ...changed, url: fault.url });
    case 'duplicated':
      return subscriptions.put({ ...changed, id: subscriptions.highestKey() + 1, createdAt: changed.updatedAt });
  }
}
