import type { Subscription } from '../account.ts';
import { rfc3339 } from './moments.ts';

/** A webhook subscription as the API shows it (2.12). */
export function subscriptionResource(subscription: Subscription): object {
  return {
    ...subscription,
    createdAt: rfc3339(subscription.createdAt),
    updatedAt: rfc3339(subscription.updatedAt),
  };
}
