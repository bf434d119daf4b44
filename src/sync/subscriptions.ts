import { type EventType, eventTypeOf } from '../event-types.ts';
import type { Log } from '../log.ts';
import { type Service, ServiceError } from '../service/client.ts';
import type { Subscription } from '../service/entities/subscription.ts';
import { type Database, query } from '../warehouse/database.ts';
import { writeSubscriptions } from '../warehouse/entities/directory/subscriptions.ts';
import { beginRead } from '../warehouse/reads.ts';

/** The events that the daemon lives on. */
export const wantedTypes = ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription'] as const satisfies EventType[];

/** What became of one type's subscription. */
export interface Ensured {
  readonly type: EventType;
  readonly url: string;
  readonly outcome: 'in_place' | 'repaired' | 'created' | 'to_create_by_hand';
  readonly subscriptionId?: number;
  readonly reason?: string;
}

export interface SubscriptionParts {
  readonly service: Service;
  readonly db: Database;
  readonly log: Log;
  readonly publicUrl: string;
  readonly secret: string;
  /** Secrets whose addresses are ours too, though no longer wanted. */
  readonly previousSecret?: string | undefined;
}

/** The address of one event type. */
export function hookUrl(publicUrl: string, secret: string, type: EventType): string {
  return `${publicUrl}/hooks/${secret}/${type}`;
}

/**
 * Sees to it that each wanted event type is delivered to its own address (section 4.7): adopts a subscription by its
 * address, enables and retypes it by PUT, and else creates one; several of ours for one address are reduced to one.
 * Other people's subscriptions are never touched. What the service refuses is answered `to_create_by_hand`, and the
 * rest goes on. Rejects when the service cannot be asked at present.
 */
export function ensureSubscriptions(parts: SubscriptionParts): Promise<Ensured[]> {
  // Two receivers that start together must not both find an address missing.
  return parts.db.connection().execute(async (db) => {
    await query(db, `select pg_advisory_lock(hashtext('ensure subscriptions'))`, []);
    try {
      return await ensureAll(parts);
    } finally {
      await query(db, `select pg_advisory_unlock(hashtext('ensure subscriptions'))`, []);
    }
  });
}

async function ensureAll(parts: SubscriptionParts): Promise<Ensured[]> {
  const { service, db, publicUrl, secret } = parts;
  const { data: listed } = await service.webhooks.list();
  const spelling = await spellings(service);
  const ensured: Ensured[] = [];
  for (const type of wantedTypes) {
    const url = hookUrl(publicUrl, secret, type);
    ensured.push(await ensureOne(service, listed, spelling(type), url));
  }
  await mirrorSubscriptions(service, db, (url) => isOurAddress(parts, url));
  for (const each of ensured) tell(parts, each);
  return ensured;
}

async function ensureOne(
  service: Service,
  listed: readonly Subscription[],
  type: EventType,
  url: string,
): Promise<Ensured> {
  const at = listed.filter((each) => each.url !== undefined && sameAddress(each.url, url));
  const [adopted, ...spare] = at.sort((a, b) => rank(a, type) - rank(b, type));
  try {
    for (const each of spare) if (each.enabled !== false) await service.webhooks.disable(each.id);
    if (adopted === undefined) {
      const { data } = await service.webhooks.create({ name: `Trunkline ${type}`, url, type, enabled: true });
      return { type, url, outcome: 'created', subscriptionId: data.id };
    }
    const changes = { ...(adopted.enabled !== true && { enabled: true }), ...(!isOfType(adopted, type) && { type }) };
    if (Object.keys(changes).length === 0) return { type, url, outcome: 'in_place', subscriptionId: adopted.id };
    await service.webhooks.update(adopted.id, changes);
    return { type, url, outcome: 'repaired', subscriptionId: adopted.id };
  } catch (error) {
    if (!(error instanceof ServiceError) || isPassing(error)) throw error;
    return { type, url, outcome: 'to_create_by_hand', reason: error.message };
  }
}

/** Section 4.7 refers to a live list of types without showing it; where there is one, it tells how types are spelled. */
async function spellings(service: Service): Promise<(type: EventType) => EventType> {
  const live = await service.webhooks.types().then(
    ({ data }) => data,
    () => [],
  );
  return (type) => (live.find((word) => eventTypeOf(word) === type) as EventType | undefined) ?? type;
}

/** A failure that says nothing about what the service allows. A path that is not there is no passing one. */
function isPassing({ advice, code }: ServiceError): boolean {
  return advice === 'retry' && code !== 'unexpected_status';
}

/** The one to keep: of the right type first, enabled before disabled. */
function rank(subscription: Subscription, type: EventType): number {
  return (isOfType(subscription, type) ? 0 : 2) + (subscription.enabled === true ? 0 : 1);
}

function isOfType(subscription: Subscription, type: EventType): boolean {
  return subscription.type !== undefined && eventTypeOf(subscription.type) === type;
}

function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '');
}

/** Whether an address is one of this receiver's, under its present or its previous secret. */
export function isOurAddress(
  receiver: { publicUrl: string | undefined; secret: string | undefined; previousSecret?: string | undefined },
  url: string,
): boolean {
  const { publicUrl, secret, previousSecret } = receiver;
  if (publicUrl === undefined) return false;
  return [secret, previousSecret].some((each) => each !== undefined && url.startsWith(`${publicUrl}/hooks/${each}/`));
}

/** Reads all subscriptions into the mirror. */
export async function mirrorSubscriptions(
  service: Service,
  db: Database,
  isOurUrl: (url: string) => boolean,
): Promise<void> {
  const read = await beginRead(db, 'webhooks.list');
  const { data, isComplete } = await service.webhooks.list();
  await db.transaction().execute((tx) =>
    writeSubscriptions(tx, {
      subscriptions: data,
      isOurs: ({ url }) => url !== undefined && isOurUrl(url),
      isComplete,
      read,
    }),
  );
}

// The address holds the secret, so the log shows its place only.
function tell({ log, publicUrl }: SubscriptionParts, { type, outcome, subscriptionId, reason }: Ensured): void {
  if (outcome === 'to_create_by_hand') {
    const url = hookUrl(publicUrl, '{WEBHOOK_SECRET}', type);
    log.error(
      { type, url, reason },
      'The service lets nobody create this webhook but you: create it with this type and url',
    );
  } else log.info({ type, subscriptionId }, `Webhook subscription ${outcome.replace('_', ' ')}`);
}
