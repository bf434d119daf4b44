import { type EventType, eventTypeOf } from '../../event-types.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { Subscription } from '../../service/entities/subscription.ts';
import { sameAddress } from './addresses.ts';

/** What is wanted of one type, which the service may spell in its own way. */
export interface Wish {
  readonly type: EventType;
  readonly spelled: EventType;
  readonly url: string;
}

/**
 * Creates a subscription (section 4.7). The answer is not specified: one that cannot be read is looked up by its address,
 * or by the name that it was just given where the service shows no such address. Rejects with `ServiceError`.
 */
export async function create(service: Service, { type, spelled, url }: Wish): Promise<Subscription> {
  try {
    return (await service.webhooks.create({ name: nameOf(type), url, type: spelled, enabled: true })).data;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'unreadable') throw error;
    const { data: listed } = await service.webhooks.list();
    const isAtUrl = (each: Subscription) => each.url !== undefined && sameAddress(each.url, url);
    const created =
      listed.find(isAtUrl) ?? listed.filter(({ name }) => name === nameOf(type)).toSorted((a, b) => b.id - a.id)[0];
    if (created === undefined) throw error;
    return created;
  }
}

/** The name of a subscription that is created here. */
export function nameOf(type: EventType): string {
  return `Trunkline ${type}`;
}

/** Whether a subscription delivers events of a type, however the service spells it. */
export function isOfType(subscription: Subscription, type: EventType): boolean {
  return subscription.type !== undefined && eventTypeOf(subscription.type) === type;
}
