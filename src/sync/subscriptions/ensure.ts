import {
  type ObjectId,
  type Service,
  ServiceError,
  type Subscription,
  type SubscriptionChanges,
} from '../../api-client/client.ts';
import type { Database } from '../../db/database.ts';
import { whileLocked } from '../../db/locks.ts';
import { type EventType, eventTypeOf } from '../../shared/event-types.ts';
import type { Log } from '../../shared/log.ts';
import { deliversTo, hookUrl, otherReceiverOf } from './matching.ts';
import {
  type Ensured,
  type Fault,
  markBroken,
  type StoredSubscription,
  storedSubscriptions,
  storeSubscriptions,
  type ToDo,
} from './store.ts';

/** The event types that the daemon needs. */
export const wantedTypes = ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription'] as const satisfies EventType[];

export interface SubscriptionDeps {
  readonly service: Service;
  readonly db: Database;
  readonly log: Log;
  readonly publicUrl: string;
  readonly secret: string;
  /** The previous secret: subscriptions with it are ours too, and get an address with the current one. */
  readonly previousSecret?: string | undefined;
  /** The receiver hasn't checked before. */
  readonly isFirst?: boolean;
}

/**
 * Ensures that each wanted event type is delivered to its own address (section 4.7). Adopts a subscription with that
 * address, or creates one. Repairs its state and type, and its address if the daemon created it or it has the previous
 * secret. Disables duplicates. Never changes subscriptions of other people or of another receiver. If the service
 * refuses, the outcome is `to_create_by_hand`, and the other types continue. Records a gap if deliveries may have been
 * lost since the last check.
 *
 * Rejects, after trying each type, when the service is unavailable.
 */
export function ensureSubscriptions(deps: SubscriptionDeps): Promise<Ensured[]> {
  // Two receivers that check at the same time must not both create a subscription.
  return whileLocked(deps.db, 'subscriptions', () => ensureAll(deps));
}

async function ensureAll(deps: SubscriptionDeps): Promise<Ensured[]> {
  const { service, db, publicUrl, secret, isFirst = false } = deps;
  const stored = await storedSubscriptions(db);
  const { data: listed } = await service.webhooks.list();
  const ensured: Ensured[] = [];
  const failures: unknown[] = [];
  for (const type of wantedTypes) {
    const url = hookUrl(publicUrl, secret, type);
    try {
      ensured.push(await ensureOne(deps, listed, stored.get(type), { type, url }));
    } catch (error) {
      failures.push(error);
    }
  }
  // Stored even if this rejects: each repair has a gap to record.
  for (const each of changedOf(ensured)) logResult(deps, each);
  await storeSubscriptions(db, ensured, { isFirst, others: otherReceivers(deps, listed) });
  if (failures.length > 0) throw failures[0];
  return ensured;
}

/** The enabled subscriptions that another receiver created, by type, each with its address up to the secret. */
function otherReceivers(
  { publicUrl, secret, previousSecret }: SubscriptionDeps,
  listed: readonly Subscription[],
): Map<EventType, string[]> {
  const own = { publicUrl, secret, previousSecret };
  return new Map(
    wantedTypes.map((type) => [
      type,
      listed.flatMap(({ name, enabled, url }) => {
        const other = name === nameOf(type) && enabled !== false && url !== undefined && otherReceiverOf(own, url);
        return other ? [other] : [];
      }),
    ]),
  );
}

function changedOf(ensured: readonly Ensured[]): Ensured[] {
  return ensured.filter(({ outcome }) => outcome !== 'in_place');
}

async function ensureOne(
  { service, db, publicUrl, secret, previousSecret }: SubscriptionDeps,
  listed: readonly Subscription[],
  stored: StoredSubscription | undefined,
  wish: WantedSubscription,
): Promise<Ensured> {
  const { type, url } = wish;
  const ranked = (address: string) =>
    listed.filter((each) => deliversTo(each, address)).sort((a, b) => rank(a, type) - rank(b, type));
  const previous = previousSecret === undefined ? [] : ranked(hookUrl(publicUrl, previousSecret, type));
  const [adopted, ...spare] = [...ranked(url), ...previous];
  const isRotated = adopted !== undefined && !deliversTo(adopted, url);
  const isRedirected = ({ id, name, url: other }: Subscription) =>
    stored?.isCreatedHere &&
    stored.subscriptionId === id &&
    name === nameOf(type) &&
    (other === undefined || otherReceiverOf({ publicUrl, secret, previousSecret }, other) === undefined);
  const redirected = adopted ? undefined : listed.find(isRedirected);
  const faults: Fault[] = [];
  const ours = adopted ?? redirected;
  let created: Subscription | undefined;
  let toDo = toCreate;
  try {
    for (const each of spare.filter(({ enabled }) => enabled !== false)) {
      toDo = { instruction: `disable subscription ${each.id} in its portal`, needsAddress: false };
      await service.webhooks.disable(each.id);
      faults.push('duplicated');
    }
    if (ours === undefined) {
      if (stored?.subscriptionId !== undefined && !listed.some(({ id }) => id === stored.subscriptionId)) {
        faults.push('deleted');
      }
      await markBroken(db, type);
      created = await create(service, wish);
      const { id: subscriptionId } = created;
      toDo = toChange(subscriptionId, type, { enabled: true });
      if (created.enabled === false) await service.webhooks.update(subscriptionId, { enabled: true });
      return { type, url, outcome: 'created', faults, subscriptionId, isCreated: true };
    }
    if (redirected) faults.push('redirected');
    if (ours.enabled === false) faults.push('disabled');
    if (!isOfType(ours, type)) faults.push('retyped');
    if (faults.length === 0 && !isRotated) return { type, url, outcome: 'in_place', faults, subscriptionId: ours.id };
    const changes = {
      ...((redirected || isRotated) && { url }),
      ...(ours.enabled === false && { enabled: true }),
      ...(!isOfType(ours, type) && { type }),
    };
    if (Object.keys(changes).length > 0) {
      if (faults.length > 0) await markBroken(db, type);
      toDo = toChange(ours.id, type, changes);
      await service.webhooks.update(ours.id, changes);
    }
    return { type, url, outcome: 'repaired', faults, subscriptionId: ours.id };
  } catch (error) {
    if (!(error instanceof ServiceError) || isTransient(error)) throw error;
    const found = created ?? ours;
    const left = found && { subscriptionId: found.id, isCreated: created !== undefined };
    return { type, url, outcome: 'to_create_by_hand', faults, ...left, reason: error.message, toDo };
  }
}

/** Whether a failure is temporary. A missing path or method isn't: the service doesn't offer the operation. */
function isTransient({ advice, code, status }: ServiceError): boolean {
  return (
    advice === 'credential' ||
    ((advice === 'retry' || advice === 'reconcile') && code !== 'unexpected_status' && status !== 501)
  );
}

/** The sort key of duplicates; the lowest one is kept: the right type first, then enabled before disabled. */
function rank(subscription: Subscription, type: EventType): number {
  return (isOfType(subscription, type) ? 0 : 2) + (subscription.enabled === false ? 1 : 0);
}

/** Logs the address without its secret. */
function logResult({ log, publicUrl }: SubscriptionDeps, ensured: Ensured): void {
  const { type, outcome, faults, subscriptionId, reason, toDo = toCreate } = ensured;
  if (outcome === 'to_create_by_hand') {
    const url = hookUrl(publicUrl, '{WEBHOOK_SECRET}', type);
    const verb = subscriptionId === undefined ? 'create' : 'repair';
    log.error({ type, url, reason }, `The service refused to ${verb} this webhook. You have to ${toDo.instruction}`);
  } else if (faults.length > 0) {
    log.warn(
      { type, subscriptionId, faults },
      `Webhook subscription ${outcome}: somebody had changed it at the service`,
    );
  } else if (outcome === 'repaired') {
    log.info({ type, subscriptionId }, 'Webhook subscription moved to the address of this receiver');
  } else log.info({ type, subscriptionId }, `Webhook subscription ${outcome}`);
}

interface WantedSubscription {
  readonly type: EventType;
  readonly url: string;
}

/**
 * Creates a subscription, possibly disabled. Section 4.7 shows neither the body nor the answer: after an unreadable
 * answer, the subscription is looked up by its address. Rejects with `ServiceError`.
 */
async function create({ webhooks }: Service, { type, url }: WantedSubscription): Promise<Subscription> {
  try {
    return (await webhooks.create({ name: nameOf(type), url, type, enabled: true })).data;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'unreadable') throw error;
    const created = (await webhooks.list()).data.find((each) => deliversTo(each, url));
    if (created === undefined) throw error;
    return created;
  }
}

type Changes = Pick<SubscriptionChanges, 'enabled' | 'type' | 'url'>;

const toCreate: ToDo = { instruction: 'create it with this type and url', needsAddress: true };

function toChange(id: ObjectId, type: EventType, changes: Changes): ToDo {
  const properties = [...(changes.type ? [`the type ${type}`] : []), ...(changes.url ? ['this url'] : [])].join(
    ' and ',
  );
  const steps = [
    ...(properties === '' ? [] : [`give subscription ${id} ${properties}`]),
    ...(changes.enabled ? [properties === '' ? `enable subscription ${id}` : 'enable it'] : []),
  ];
  return { instruction: `${steps.join(' and ')} in its portal`, needsAddress: changes.url !== undefined };
}

function nameOf(type: EventType): string {
  return `Trunkline ${type}`;
}

/** Whether a subscription fires on a type, whatever its spelling. */
function isOfType(subscription: Subscription, type: EventType): boolean {
  return subscription.type !== undefined && eventTypeOf(subscription.type) === type;
}
