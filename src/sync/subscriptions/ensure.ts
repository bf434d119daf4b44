import {
  type ObjectId,
  type Service,
  ServiceError,
  type Subscription,
  type SubscriptionChanges,
} from '../../api-client/client.ts';
import { type Database, query } from '../../db/database.ts';
import { whileLocked } from '../../db/locks.ts';
import { type EventType, eventTypeOf } from '../../shared/event-types.ts';
import type { Log } from '../../shared/log.ts';
import { writeSubscriptions } from '../../warehouse/subscriptions.ts';
import { beginRead } from '../../warehouse/upsert.ts';
import { deliversTo, hookUrl, isOurAddress, receiverAt, receiverOf } from './matching.ts';
import {
  type Ensured,
  type Fault,
  forgetChecks,
  isNewcomer,
  markBroken,
  type OtherReceivers,
  ReceiversDiffer,
  readReceivers,
  recordCheck,
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
  /** Subscriptions with this secret in their address are ours too, and get an address with the current secret. */
  readonly previousSecret?: string | undefined;
  /** Takes over the subscriptions of another running receiver, because the operator requested it. */
  readonly takesOver?: boolean;
  /** The receiver's id in ops.processes; undefined in commands. */
  readonly processId?: string;
}

/**
 * Ensures that each wanted event type is delivered to its own address (section 4.7). Adopts a subscription with that address, or
 * creates one; repairs its state and type, and its address if the daemon created it or it has the previous secret; disables
 * duplicates. Never changes other people's subscriptions. If the service refuses, the outcome is `to_create_by_hand`, and the
 * other types continue. Records a gap if deliveries may have been lost since the last check.
 *
 * Rejects, after trying each type, when the service is unavailable, and with `ReceiversDiffer` when another receiver owns the
 * subscriptions, unless `takesOver`.
 */
export function ensureSubscriptions(deps: SubscriptionDeps): Promise<Ensured[]> {
  // Two receivers that check at the same time must not both create a subscription.
  return whileLocked(deps.db, 'subscriptions', () => ensureAll(deps));
}

/** Lets the next receiver that checks own the subscriptions. Changes nothing at the service. */
export function leaveSubscriptions(
  deps: Pick<SubscriptionDeps, 'db' | 'publicUrl' | 'secret' | 'processId'>,
): Promise<void> {
  return forgetChecks(deps.db, receiverAt(deps.publicUrl, deps.secret), deps.processId);
}

async function ensureAll(deps: SubscriptionDeps): Promise<Ensured[]> {
  const { service, db, publicUrl, secret } = deps;
  const stored = await storedSubscriptions(db);
  const { data: listed, isComplete } = await service.webhooks.list();
  if (!isComplete) {
    // Lists without parameters stay whole (section 9). A part of one must not make each check create ours again.
    const details = { operation: 'webhooks.list', effect: 'none' } as const;
    throw new ServiceError('unreadable', 'the list of webhook subscriptions is not whole', details);
  }
  const own = receiverAt(publicUrl, secret);
  const others = await readReceivers(db, own);
  const ensured: Ensured[] = [];
  const failures: unknown[] = [];
  for (const type of wantedTypes) {
    const url = hookUrl(publicUrl, secret, type);
    try {
      ensured.push(await ensureOne(deps, listed, stored.get(type), { type, url }, others));
    } catch (error) {
      failures.push(error);
    }
  }
  // Stored even if this rejects: each repair has a gap to record.
  for (const each of changedOf(ensured)) logResult(deps, each);
  const { processId } = deps;
  await storeSubscriptions(db, ensured, { isNewcomer: processId !== undefined && (await isNewcomer(db, processId)) });
  // After a failed check, a newcomer stays one: it has not taken over all types yet.
  if (failures.every((each) => each instanceof ReceiversDiffer)) await recordCheck(db, own, processId);
  if (failures.length > 0) throw failures[0];
  // A check runs every half minute and rarely finds a change, so the mirror is written only after one.
  if (changedOf(ensured).length > 0 || !(await isMirrored(db, listed))) {
    const ids = new Set(ensured.map(({ subscriptionId }) => subscriptionId));
    const isOurs = ({ id, url }: Subscription) => ids.has(id) || isOurAddress(deps, url);
    await mirrorSubscriptions(deps, isOurs);
  }
  return ensured;
}

function changedOf(ensured: readonly Ensured[]): Ensured[] {
  return ensured.filter(({ outcome }) => outcome !== 'in_place');
}

async function ensureOne(
  { service, db, publicUrl, previousSecret, takesOver }: SubscriptionDeps,
  listed: readonly Subscription[],
  stored: StoredSubscription | undefined,
  wish: WantedSubscription,
  others: OtherReceivers,
): Promise<Ensured> {
  const { type, url } = wish;
  const atUrl = listed.filter((each) => deliversTo(each, url));
  const [adopted, ...spare] = atUrl.sort((a, b) => rank(a, type) - rank(b, type));
  const isRedirected = ({ id, name }: Subscription) =>
    stored?.isCreatedHere && stored.subscriptionId === id && name === nameOf(type);
  const redirected = adopted ? undefined : listed.find(isRedirected);
  const otherReceiver = redirected?.url === undefined ? undefined : receiverOf(redirected.url);
  const isOfOther = others.has(otherReceiver);
  const isPrevious = previousSecret !== undefined && otherReceiver === receiverAt(publicUrl, previousSecret);
  if (isOfOther && !isPrevious && !others.isNewcomer && !takesOver) throw new ReceiversDiffer();
  // Deliveries with the former secret were accepted, so this is neither a fault nor a gap.
  const isRotated = isPrevious || isOfOther;
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
      if (stored?.subscriptionId !== undefined) faults.push('deleted');
      await markBroken(db, type);
      created = await create(service, wish);
      const { id: subscriptionId } = created;
      toDo = toChange(subscriptionId, type, { enabled: true });
      if (created.enabled === false) await service.webhooks.update(subscriptionId, { enabled: true });
      return { type, url, outcome: 'created', faults, subscriptionId, isCreated: true };
    }
    if (redirected && !isRotated) faults.push('redirected');
    if (ours.enabled === false) faults.push('disabled');
    if (!isOfType(ours, type)) faults.push('retyped');
    if (faults.length === 0 && !isRotated) return { type, url, outcome: 'in_place', faults, subscriptionId: ours.id };
    const changes = {
      ...(redirected && { url }),
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

/** Whether a failure is temporary. A missing path or method is not: the service does not offer the operation. */
function isTransient({ advice, code, status }: ServiceError): boolean {
  return (
    advice === 'credential' ||
    ((advice === 'retry' || advice === 'reconcile') && code !== 'unexpected_status' && status !== 501)
  );
}

/** Sort key for duplicates, lowest kept: the right type first, then enabled before disabled. */
function rank(subscription: Subscription, type: EventType): number {
  return (isOfType(subscription, type) ? 0 : 2) + (subscription.enabled === false ? 1 : 0);
}

/** Whether the mirror holds exactly the listed subscriptions, as they are. */
async function isMirrored(db: Database, listed: readonly Subscription[]): Promise<boolean> {
  const held = await query<{ subscription_id: string; updated_at: Date | null; is_enabled: boolean | null }>(
    db,
    'select subscription_id, updated_at, is_enabled from warehouse.webhook_subscriptions where deleted_at is null',
    [],
  );
  const mirrored = new Map(held.map((row) => [String(row.subscription_id), row]));
  return (
    mirrored.size === listed.length &&
    listed.every(({ id, updatedAt, enabled }) => {
      const row = mirrored.get(String(id));
      const isAsRecent = (row?.updated_at?.getTime() ?? 0) === (updatedAt === undefined ? 0 : Date.parse(updatedAt));
      return row !== undefined && isAsRecent && row.is_enabled === (enabled ?? null);
    })
  );
}

/** Reads all subscriptions into the mirror. */
async function mirrorSubscriptions(
  { service, db }: SubscriptionDeps,
  isOurs: (subscription: Subscription) => boolean,
): Promise<void> {
  const read = await beginRead(db, 'webhooks.list');
  const { data: subscriptions, isComplete } = await service.webhooks.list();
  const found = { subscriptions, isOurs, isComplete, read };
  await db.transaction().execute((tx) => writeSubscriptions(tx, found));
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
 * Creates a subscription, possibly disabled. Section 4.7 shows neither the body nor the answer: after an unreadable answer, the
 * subscription is looked up by its address. Rejects with `ServiceError`.
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
