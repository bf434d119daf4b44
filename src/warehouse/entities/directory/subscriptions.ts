import type { Subscription } from '../../../service/entities/subscription.ts';
import { mirrorTable, type Provenance, type SealLink } from '../../columns.ts';
import { query, type Transaction } from '../../database.ts';
import { upsert } from '../../mirror.ts';
import { isCurrent } from './periods.ts';

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

/** What one list of the subscriptions found; `isComplete` is false when the answer may be partial. */
export interface SubscriptionsRead {
  readonly subscriptions: readonly Subscription[];
  readonly isOurs: (subscription: Subscription) => boolean;
  readonly isComplete: boolean;
  readonly read: Provenance;
  /** Without it no address is kept. */
  readonly sealLink?: SealLink | undefined;
}

/** Mirrors the account's subscriptions, their addresses apart. */
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
    `insert into secrets.webhook_urls (subscription_id, url)
     select distinct on (1) * from unnest($1::bigint[], $2::text[]) order by 1
     on conflict (subscription_id) do update set url = excluded.url`,
    [addressed.map((each) => each.id), addressed.map((each) => each.url)],
  );
  if (!isComplete) return;
  await query(
    tx,
    `update warehouse.webhook_subscriptions set deleted_at = now(), deleted_reason = 'a complete read does not list it',
       changed_at = now(), fetch_seq = $1
     where fetch_seq < $1 and deleted_at is null`,
    [read.fetchSeq],
  );
}

/** The name of a subscription's row, to which its sealed address is bound. */
export function subscriptionRow(id: number | string): string {
  return `webhook_urls ${id}`;
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
