import type { Subscription } from '../api-client/client.ts';
import { query, relation, sql, type Transaction } from '../db/database.ts';
import { deleteUnlisted, isCurrent } from './periods.ts';
import { mirrorTable, type Provenance, type SealLink, upsert } from './upsert.ts';

export const webhookSubscriptions = mirrorTable('warehouse.webhook_subscriptions', ['subscription_id'], {
  subscription_id: 'bigint',
  name: 'text',
  description: 'text',
  url_host: 'text',
  event_type: 'text',
  is_enabled: 'boolean',
  is_ours: 'boolean',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
});

/** One read of the subscriptions; `isComplete` is false when the answer may be partial. */
interface SubscriptionsRead {
  readonly subscriptions: readonly Subscription[];
  readonly isOurs: (subscription: Subscription) => boolean;
  readonly isComplete: boolean;
  readonly read: Provenance;
  /** Undefined: addresses are not stored. */
  readonly sealLink?: SealLink | undefined;
}

/** Mirrors the account's subscriptions, and stores their addresses, sealed, in the schema `secrets`. */
export async function writeSubscriptions(tx: Transaction, found: SubscriptionsRead): Promise<void> {
  const { subscriptions, isOurs, isComplete, read, sealLink } = found;
  if (!(await isCurrent(tx, 'warehouse.webhook_subscriptions', read.fetchSeq))) return;
  await upsert(
    tx,
    webhookSubscriptions,
    subscriptions.map((each) => ({
      read,
      row: {
        subscription_id: each.id,
        name: each.name,
        description: each.description,
        url_host: hostOf(each.url),
        event_type: each.type,
        is_enabled: each.enabled,
        is_ours: isOurs(each),
        created_at: each.createdAt,
        updated_at: each.updatedAt,
      },
    })),
  );
  const addressed = subscriptions.flatMap(({ id, url }) =>
    url !== undefined && sealLink ? [{ id, url: sealLink(url, subscriptionRow(id)) }] : [],
  );
  await query(
    tx,
    sql`
      insert into secrets.webhook_urls (subscription_id, url)
      select distinct on (subscription_id) *
      from ${relation('listed', addressed, { subscription_id: ['bigint', (each) => each.id], url: 'text' })}
      order by subscription_id
      on conflict (subscription_id) do update set url = excluded.url`,
  );
  if (isComplete) await deleteUnlisted(tx, 'warehouse.webhook_subscriptions', read.fetchSeq);
}

/** Identifies the row of a subscription; its sealed address is bound to it. */
export function subscriptionRow(id: number | string): string {
  return `webhook_urls ${id}`;
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
