import type { EventType } from '../../event-types.ts';
import type { Log } from '../../log.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { Subscription } from '../../service/entities/subscription.ts';
import type { SealLink } from '../../warehouse/columns.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { writeSubscriptions } from '../../warehouse/entities/directory/subscriptions.ts';
import { beginRead } from '../../warehouse/reads.ts';
import { hookUrl, isOurAddress, receiverOf } from './addresses.ts';
import { listSubscriptions, readSpellings } from './listing.ts';
import { forgetLook, noteLook, ReceiversDiffer, readHolders } from './receivers.ts';
import { deliversTo, isElsewhere, noteShown, receiverBehind } from './shown.ts';
import { knownSubscriptions, markBroken, recordSubscriptions, type WatchedSubscription } from './watched.ts';
import { change, create, isOfType, nameOf, type ToDo, toChange, toCreate, type Wish } from './writes.ts';

/** The events that the daemon lives on. */
export const wantedTypes = ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription'] as const satisfies EventType[];

/** What was wrong with a subscription that the daemon had; all but `duplicated` lose deliveries. */
export type Fault = 'disabled' | 'deleted' | 'redirected' | 'retyped' | 'duplicated';

const notTaken = 'the service did not take the change';

/** What became of one type's subscription. */
export interface Ensured {
  readonly type: EventType;
  readonly url: string;
  readonly outcome: 'in_place' | 'repaired' | 'created' | 'to_create_by_hand';
  readonly faults: readonly Fault[];
  readonly subscriptionId?: number;
  /** It was created in this look, whether or not it could be enabled. */
  readonly isCreated?: boolean;
  readonly reason?: string;
  /** What the service leaves to a person. */
  readonly toDo?: ToDo;
}

export interface SubscriptionParts {
  readonly service: Service;
  readonly db: Database;
  readonly log: Log;
  readonly publicUrl: string;
  readonly secret: string;
  /** A secret whose addresses are ours too, though no longer wanted. */
  readonly previousSecret?: string | undefined;
  /** A person asks for it: another receiver that has them gives way. */
  readonly isAsked?: boolean;
  /** Without it no address is kept. */
  readonly sealLink?: SealLink | undefined;
  /** The process of the receiver, as ops.processes knows it; left out by commands. */
  readonly processId?: string;
}

/**
 * Sees to it that each wanted event type is delivered to its own address (section 4.7): adopts a subscription by its
 * address, enables and retypes it by PUT, and else creates one; one that was created here and points elsewhere gets its
 * address back; several of ours for one address are reduced to one. One at the address of our previous secret is moved
 * to the present one, and has lost nothing. Other people's subscriptions are never touched. What the service refuses is
 * answered `to_create_by_hand`, and the rest goes on. What may have been lost since the last look is noted as a gap.
 * Rejects when the service cannot be asked at present, after it was asked for each type; and with `ReceiversDiffer` when
 * another receiver has them, unless a person asks for it.
 */
export function ensureSubscriptions(parts: SubscriptionParts): Promise<Ensured[]> {
  // Two receivers that look together must not both find an address missing.
  return parts.db.connection().execute(async (db) => {
    await query(db, `select pg_advisory_lock(hashtext('ensure subscriptions'))`, []);
    try {
      return await ensureAll(parts);
    } finally {
      await query(db, `select pg_advisory_unlock(hashtext('ensure subscriptions'))`, []);
    }
  });
}

/** Gives the subscriptions up to whichever receiver looks next, without a change at the service. */
export function leaveSubscriptions(parts: Pick<SubscriptionParts, 'db' | 'publicUrl' | 'secret'>): Promise<void> {
  return forgetLook(parts.db, ownUrlOf(parts));
}

/** One address of a receiver's own, which stands for all of them. */
function ownUrlOf({ publicUrl, secret }: Pick<SubscriptionParts, 'publicUrl' | 'secret'>): string {
  return hookUrl(publicUrl, secret, wantedTypes[0]);
}

async function ensureAll(parts: SubscriptionParts): Promise<Ensured[]> {
  const { service, db, publicUrl, secret } = parts;
  const known = await knownSubscriptions(db);
  const knownIds = [...known.values()].flatMap(({ subscriptionId }) => subscriptionId ?? []);
  const listed = await listSubscriptions(service, wantedTypes, knownIds);
  const spelling = await readSpellings(service);
  const ownUrl = ownUrlOf(parts);
  const isHeld = parts.isAsked ? () => false : await readHolders(db, ownUrl);
  const ensured: Ensured[] = [];
  const failures: unknown[] = [];
  for (const type of wantedTypes) {
    const url = hookUrl(publicUrl, secret, type);
    try {
      ensured.push(await ensureOne(parts, listed, known.get(type), { type, spelled: spelling(type), url }, isHeld));
    } catch (error) {
      failures.push(error);
    }
  }
  // What was repaired lost deliveries, whether or not all could be looked at.
  for (const each of changedOf(ensured)) tell(parts, each);
  await recordSubscriptions(db, ensured);
  const written = ensured.filter(({ outcome, isCreated }) => isCreated || outcome === 'repaired');
  if (written.length > 0) await noteShown(parts, written);
  // A look that was cut short leaves a newcomer one: it has yet to take over what it could not.
  if (failures.every((each) => each instanceof ReceiversDiffer)) await noteLook(db, ownUrl, parts.processId);
  if (failures.length > 0) throw failures[0];
  // Looked at each minute, and nearly always as it was: the mirror is written when there is something new.
  if (changedOf(ensured).length > 0 || !(await isMirrored(db, listed))) {
    const ids = new Set(ensured.map(({ subscriptionId }) => subscriptionId));
    const isOurs = ({ id, url = '' }: Subscription) => ids.has(id) || isOurAddress(parts, url);
    await mirrorSubscriptions(parts, isOurs);
  }
  return ensured;
}

function changedOf(ensured: readonly Ensured[]): Ensured[] {
  return ensured.filter(({ outcome }) => outcome !== 'in_place');
}

async function ensureOne(
  { service, db, publicUrl, previousSecret }: SubscriptionParts,
  listed: readonly Subscription[],
  known: WatchedSubscription | undefined,
  wish: Wish,
  isHeld: (receiver: string | undefined) => boolean,
): Promise<Ensured> {
  const { type, spelled, url } = wish;
  const at = listed.filter((each) => deliversTo(each, known, url));
  const [adopted, ...spare] = at.sort((a, b) => rank(a, type) - rank(b, type));
  const isStrayed = ({ id, name }: Subscription) =>
    known?.isCreatedHere && known.subscriptionId === id && name === nameOf(type);
  const strayed = adopted ? undefined : listed.find(isStrayed);
  const strayedTo = strayed && receiverBehind(strayed, known);
  // Deliveries to the address of the previous secret were accepted all along.
  const isRotated = previousSecret !== undefined && strayedTo === receiverOf(hookUrl(publicUrl, previousSecret, type));
  if (!isRotated && isHeld(strayedTo)) throw new ReceiversDiffer();
  const faults: Fault[] = [];
  const ours = adopted ?? strayed;
  let created: Subscription | undefined;
  let toDo = toCreate;
  const refused = (reason: string): Ensured => {
    const found = created ?? ours;
    const left = found && { subscriptionId: found.id, isCreated: created !== undefined };
    return { type, url, outcome: 'to_create_by_hand', faults, ...left, reason, toDo };
  };
  try {
    for (const each of spare.filter(({ enabled }) => enabled !== false)) {
      toDo = { says: `disable subscription ${each.id} in its portal`, needsAddress: false };
      await service.webhooks.disable(each.id);
      faults.push('duplicated');
    }
    if (ours === undefined) {
      if (known?.subscriptionId !== undefined) faults.push('deleted');
      await markBroken(db, type);
      created = await create(service, wish);
      const { id: subscriptionId } = created;
      toDo = toChange(subscriptionId, type, { enabled: true });
      const left = created.enabled === false ? await change(service, subscriptionId, { enabled: true }) : created;
      if (left.enabled === false) return refused(notTaken);
      return { type, url, outcome: 'created', faults, subscriptionId, isCreated: true };
    }
    if (strayed && !isRotated) faults.push('redirected');
    if (ours.enabled === false) faults.push('disabled');
    if (!isOfType(ours, type)) faults.push('retyped');
    if (faults.length === 0 && !isRotated) return { type, url, outcome: 'in_place', faults, subscriptionId: ours.id };
    const changes = {
      ...(strayed && { url }),
      ...(ours.enabled === false && { enabled: true }),
      ...(!isOfType(ours, type) && { type: spelled }),
    };
    if (Object.keys(changes).length > 0) {
      if (faults.length > 0) await markBroken(db, type);
      toDo = toChange(ours.id, type, changes);
      const left = await change(service, ours.id, changes);
      const isTaken =
        left.enabled !== false &&
        (left.type === undefined || isOfType(left, type)) &&
        !(strayed && left.url !== undefined && isElsewhere({ publicUrl, previousSecret }, left.url));
      if (!isTaken) return refused(notTaken);
    }
    return { type, url, outcome: 'repaired', faults, subscriptionId: ours.id };
  } catch (error) {
    if (!(error instanceof ServiceError) || isPassing(error)) throw error;
    return refused(error.message);
  }
}

/** A failure that says nothing about what the service allows. A path or a method that is not there is no passing one. */
function isPassing({ advice, code, status }: ServiceError): boolean {
  return (
    advice === 'credential' ||
    ((advice === 'retry' || advice === 'reconcile') && code !== 'unexpected_status' && status !== 501)
  );
}

/** The one to keep: of the right type first, enabled before disabled. */
function rank(subscription: Subscription, type: EventType): number {
  return (isOfType(subscription, type) ? 0 : 2) + (subscription.enabled === false ? 1 : 0);
}

/** Whether the mirror shows each listed subscription as it is, and none besides. */
async function isMirrored(db: Database, listed: readonly Subscription[]): Promise<boolean> {
  const held = await query<{ subscription_id: string; updated_at: Date | null; is_enabled: boolean | null }>(
    db,
    'select subscription_id, updated_at, is_enabled from warehouse.webhook_subscriptions where deleted_at is null',
    [],
  );
  const shown = new Map(held.map((row) => [Number(row.subscription_id), row]));
  return (
    shown.size === listed.length &&
    listed.every(({ id, updatedAt, enabled }) => {
      const row = shown.get(id);
      const isAsRecent = (row?.updated_at?.getTime() ?? 0) === (updatedAt === undefined ? 0 : Date.parse(updatedAt));
      return row !== undefined && isAsRecent && row.is_enabled === (enabled ?? null);
    })
  );
}

/** Reads all subscriptions into the mirror. */
async function mirrorSubscriptions(
  { service, db, sealLink }: SubscriptionParts,
  isOurs: (subscription: Subscription) => boolean,
): Promise<void> {
  const read = await beginRead(db, 'webhooks.list');
  const { data, isComplete } = await service.webhooks.list();
  await db.transaction().execute((tx) =>
    writeSubscriptions(tx, {
      subscriptions: data,
      isOurs,
      isComplete,
      read,
      sealLink,
    }),
  );
}

// The address holds the secret, so the log shows its place only.
function tell({ log, publicUrl }: SubscriptionParts, ensured: Ensured): void {
  const { type, outcome, faults, subscriptionId, reason, toDo = toCreate } = ensured;
  if (outcome === 'to_create_by_hand') {
    const url = hookUrl(publicUrl, '{WEBHOOK_SECRET}', type);
    const verb = subscriptionId === undefined ? 'create' : 'mend';
    log.error({ type, url, reason }, `The service lets nobody ${verb} this webhook but you: ${toDo.says}`);
  } else if (faults.length > 0) {
    log.warn(
      { type, subscriptionId, faults },
      `Webhook subscription ${outcome}: somebody had changed it at the service`,
    );
  } else if (outcome === 'repaired') {
    log.info(
      { type, subscriptionId },
      'Webhook subscription moved from the previous WEBHOOK_SECRET to the present one',
    );
  } else log.info({ type, subscriptionId }, `Webhook subscription ${outcome}`);
}
