import type { Subscription } from '../api-client/client.ts';
import type { Transaction } from '../db/database.ts';
import { deleteUnlisted, isCurrent } from './directory-list.ts';
import { mirrorTable, type Provenance, upsert } from './upsert.ts';

interface Listed {
  readonly each: Subscription;
  readonly isOurs: boolean;
}

export const webhookSubscriptions = mirrorTable<Listed>()('warehouse.webhook_subscriptions', ['subscription_id'], {
  subscription_id: ['bigint', ({ each }) => each.id],
  name: ['text', ({ each }) => each.name],
  description: ['text', ({ each }) => each.description],
  url_host: ['text', ({ each }) => hostOf(each.url)],
  event_type: ['text', ({ each }) => each.type],
  is_enabled: ['boolean', ({ each }) => each.enabled],
  is_ours: ['boolean', ({ isOurs }) => isOurs],
  created_at: ['timestamptz', ({ each }) => each.createdAt],
  updated_at: ['timestamptz', ({ each }) => each.updatedAt],
});

/** One read of the subscriptions. `isComplete` is false if the answer may be partial. */
interface SubscriptionsRead {
  readonly subscriptions: readonly Subscription[];
  readonly isOurs: (subscription: Subscription) => boolean;
  readonly isComplete: boolean;
  readonly read: Provenance;
}

/** Mirrors the account's subscriptions. Of their addresses, which hold secrets, it keeps the host. */
export async function writeSubscriptions(tx: Transaction, found: SubscriptionsRead): Promise<void> {
  const { subscriptions, isOurs, isComplete, read } = found;
  if (!(await isCurrent(tx, 'warehouse.webhook_subscriptions', read.fetchSeq))) return;
  await upsert(
    tx,
    webhookSubscriptions,
    subscriptions.map((each) => ({ row: webhookSubscriptions.row({ each, isOurs: isOurs(each) }), read })),
  );
  if (isComplete) await deleteUnlisted(tx, 'warehouse.webhook_subscriptions', read.fetchSeq);
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
