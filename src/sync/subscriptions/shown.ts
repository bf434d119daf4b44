import { hash } from 'node:crypto';
import type { Subscription } from '../../service/entities/subscription.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { hookUrl, isOurAddress, receiverOf, sameAddress } from './addresses.ts';
import type { Ensured, SubscriptionParts } from './ensure.ts';
import { listSubscriptions } from './listing.ts';
import { knownSubscriptions, type WatchedSubscription } from './watched.ts';

/*
 * What a service shows of an address need not be what it delivers to: one masks the secret, another leaves the address out
 * of its lists. How it shows one of ours right after the daemon wrote it is remembered, and stands for the address.
 */

/** Whether a subscription delivers to `url`, one of ours, as far as the service shows it. */
export function deliversTo(subscription: Subscription, known: WatchedSubscription | undefined, url: string): boolean {
  if (isRemembered(subscription, known)) return (known?.receiver ?? receiverOf(url)) === receiverOf(url);
  return subscription.url !== undefined && sameAddress(subscription.url, url);
}

/** Names the receiver that a subscription delivers to, as far as that is known. */
export function receiverBehind(subscription: Subscription, known: WatchedSubscription | undefined): string | undefined {
  if (isRemembered(subscription, known)) return known?.receiver;
  return subscription.url === undefined ? undefined : receiverOf(subscription.url);
}

function isRemembered({ id, url }: Subscription, known: WatchedSubscription | undefined): boolean {
  return known?.subscriptionId === id && (url === undefined || hashOf(url) === known.shownHash);
}

/** Tells ours from other people's subscriptions, by what the service shows of them now. */
export async function readOwnership(
  db: Database,
  ours: { publicUrl: string | undefined; secret: string | undefined; previousSecret?: string | undefined },
): Promise<(subscription: Subscription) => boolean> {
  const { publicUrl, secret, previousSecret } = ours;
  if (publicUrl === undefined) return () => false;
  const watched = [...(await knownSubscriptions(db))];
  const known = [secret, previousSecret].flatMap((own) =>
    own === undefined ? [] : watched.map(([type, each]) => ({ each, url: hookUrl(publicUrl, own, type) })),
  );
  return (subscription) =>
    (subscription.url !== undefined && isOurAddress(ours, subscription.url)) ||
    known.some(({ each, url }) => deliversTo(subscription, each, url));
}

/** Whether an address that is shown after ours was written proves that the service did not take it. */
export function isElsewhere(
  { publicUrl, previousSecret }: { publicUrl: string; previousSecret?: string | undefined },
  shown: string,
): boolean {
  if (isOurAddress({ publicUrl, secret: previousSecret }, shown)) return true;
  if (!URL.canParse(shown) || !URL.canParse(publicUrl)) return false;
  const { hostname } = new URL(shown);
  return hostname !== new URL(publicUrl).hostname && !hostname.includes('*');
}

/**
 * Remembers how the service shows what was just written, and says so once. It looks right after the writing: later on,
 * somebody may have redirected one.
 */
export async function noteShown(parts: SubscriptionParts, written: readonly Ensured[]): Promise<void> {
  const { service, db, log, publicUrl, secret } = parts;
  const ids = written.flatMap(({ subscriptionId }) => subscriptionId ?? []);
  const types = written.map(({ type }) => type);
  const listed = new Map((await listSubscriptions(service, types, ids)).map((each) => [each.id, each]));
  for (const { type, subscriptionId } of written) {
    const shown = subscriptionId === undefined ? undefined : listed.get(subscriptionId)?.url;
    if (shown === undefined || sameAddress(shown, hookUrl(publicUrl, secret, type)) || isElsewhere(parts, shown)) {
      continue;
    }
    const noted = await query(
      db,
      `update ops.subscription_watch set shown_hash = $2
       where event_type = $1 and subscription_id = $3 and shown_hash is distinct from $2 returning event_type`,
      [type, hashOf(shown), subscriptionId],
    );
    if (noted.length === 0) continue;
    log.warn(
      { type, subscriptionId },
      'The service shows the address of this webhook in a way of its own, which counts as ours from now on: if nothing is delivered, compare it in the portal',
    );
  }
}

function hashOf(shown: string): string {
  return hash('sha256', shown, 'hex');
}
