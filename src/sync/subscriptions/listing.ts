import { type EventType, eventTypeOf } from '../../event-types.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { Subscription } from '../../service/entities/subscription.ts';

/**
 * All subscriptions of the account (section 4.7), as far as they can be seen. Lists are whole today; where one says that
 * there is more, the types that matter are listed on their own, and those that we know are asked for by their ids.
 * Rejects with `ServiceError`.
 */
export async function listSubscriptions(
  service: Service,
  wanted: readonly EventType[],
  knownIds: readonly number[],
): Promise<readonly Subscription[]> {
  const { data, isComplete } = await service.webhooks.list();
  if (isComplete) return data;
  const seen = new Map(data.map((each) => [each.id, each]));
  for (const type of wanted) {
    for (const each of (await service.webhooks.list({ type })).data) seen.set(each.id, each);
  }
  for (const id of knownIds.filter((each) => !seen.has(each))) {
    const found = await service.webhooks.get(id).catch(unlessMissing);
    if (found) seen.set(id, found.data);
  }
  return [...seen.values()];
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof ServiceError && error.advice === 'not_found') return undefined;
  throw error;
}

/**
 * How the service spells event types: section 4.7 refers to a live list without showing it. What it does not list, or
 * lists in a form that nobody can read, is spelled as the specification does.
 */
export async function readSpellings(service: Service): Promise<(type: EventType) => EventType> {
  const live = await service.webhooks.types().then(
    ({ data }) => data,
    () => [],
  );
  return (type) => (live.find((word) => eventTypeOf(word) === type) as EventType | undefined) ?? type;
}
