import { z } from 'zod';
import { eventTypes, type Subscription } from '../account.ts';
import { rfc3339 } from './moments.ts';

/** Section 2.12. */
export const subscriptionSchema = z
  .object({
    id: z.int(),
    name: z.string(),
    description: z.string(),
    url: z.string().describe('Delivery address; http or https.'),
    type: z.enum(eventTypes),
    enabled: z.boolean(),
    createdAt: z.string(),
    updatedAt: z.string(),
  })
  .meta({ id: 'Subscription' });

/** A webhook subscription as the API shows it. */
export function subscriptionResource(subscription: Subscription): z.output<typeof subscriptionSchema> {
  return {
    ...subscription,
    createdAt: rfc3339(subscription.createdAt),
    updatedAt: rfc3339(subscription.updatedAt),
  };
}
