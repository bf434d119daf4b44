import { type EventType, eventTypeOf } from '../../event-types.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { Subscription } from '../../service/entities/subscription.ts';
import type { SubscriptionChanges } from '../../service/resources/webhooks.ts';
import { sameAddress } from './addresses.ts';

/** What is wanted of one type, which the service may spell in its own way. */
export interface Wish {
  readonly type: EventType;
  readonly spelled: EventType;
  readonly url: string;
}

/**
 * Creates a subscription (section 4.7). Neither what is sent nor the answer is specified: a body that is refused is sent
 * once more in another form, and a subscription that cannot be read is looked up by its address, or by the name that it was
 * just given where the service shows no such address. One that the service created disabled is left so. Rejects with
 * `ServiceError`.
 */
export async function create(service: Service, { type, spelled, url }: Wish): Promise<Subscription> {
  const { webhooks } = service;
  const wanted = { name: nameOf(type), url, type: spelled };
  try {
    const created = webhooks.create({ ...wanted, enabled: true }).catch((error: unknown) => {
      // A refused body has created nothing. The service may not know `enabled` here, or want a description.
      if (!(error instanceof ServiceError) || error.status !== 400) throw error;
      return webhooks.create({ ...wanted, description: `Tells Trunkline of ${type}` });
    });
    return (await created).data;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'unreadable') throw error;
    const { data: listed } = await webhooks.list();
    const isAtUrl = (each: Subscription) => each.url !== undefined && sameAddress(each.url, url);
    const created =
      listed.find(isAtUrl) ?? listed.filter(({ name }) => name === nameOf(type)).toSorted((a, b) => b.id - a.id)[0];
    if (created === undefined) throw error;
    return created;
  }
}

/** What the daemon changes of a subscription. */
type Changes = Pick<SubscriptionChanges, 'enabled' | 'type' | 'url'>;

/** Changes a subscription, and tells what is stored afterwards. Rejects with `ServiceError`. */
export async function change(service: Service, id: number, changes: Changes): Promise<Subscription> {
  const isEnableAlone = changes.enabled === true && Object.keys(changes).length === 1;
  const { webhooks } = service;
  return (await (isEnableAlone ? webhooks.enable(id) : webhooks.update(id, changes))).data;
}

/** What the service leaves to a person. */
export interface ToDo {
  readonly says: string;
  /** The person has to write the address down, which holds the secret. */
  readonly needsAddress: boolean;
}

/** What a person does where the service lets nobody else create a subscription. */
export const toCreate: ToDo = { says: 'create it with this type and url', needsAddress: true };

/** What a person does where the service takes none of the changes to a subscription that is there. */
export function toChange(id: number, type: EventType, changes: Changes): ToDo {
  const given = [...(changes.type ? [`the type ${type}`] : []), ...(changes.url ? ['this url'] : [])].join(' and ');
  const says = [
    ...(given === '' ? [] : [`give subscription ${id} ${given}`]),
    ...(changes.enabled ? [given === '' ? `enable subscription ${id}` : 'enable it'] : []),
  ];
  return { says: `${says.join(' and ')} in its portal`, needsAddress: changes.url !== undefined };
}

/** The name of a subscription that is created here. */
export function nameOf(type: EventType): string {
  return `Trunkline ${type}`;
}

/** Whether a subscription delivers events of a type, however the service spells it. */
export function isOfType(subscription: Subscription, type: EventType): boolean {
  return subscription.type !== undefined && eventTypeOf(subscription.type) === type;
}
