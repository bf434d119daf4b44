import type { EventType } from '../../event-types.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { receiverOf } from './addresses.ts';
import type { Ensured } from './ensure.ts';

/** A subscription as the last look left it. */
export interface WatchedSubscription {
  readonly subscriptionId: number | undefined;
  /** The daemon created it, so its address is the daemon's to mend. */
  readonly isCreatedHere: boolean;
  /** The receiver that it was left with. */
  readonly receiver?: string | undefined;
  /** Its address as the service shows it, where that is not as it was asked for. */
  readonly shownHash?: string | undefined;
}

export async function knownSubscriptions(db: Database): Promise<Map<string, WatchedSubscription>> {
  const rows = await query<{
    event_type: string;
    subscription_id: string | null;
    is_created_here: boolean;
    receiver_hash: string | null;
    shown_hash: string | null;
  }>(
    db,
    'select event_type, subscription_id, is_created_here, receiver_hash, shown_hash from ops.subscription_watch',
    [],
  );
  return new Map(
    rows.map((row) => [
      row.event_type,
      {
        subscriptionId: row.subscription_id === null ? undefined : Number(row.subscription_id),
        isCreatedHere: row.is_created_here,
        receiver: row.receiver_hash ?? undefined,
        shownHash: row.shown_hash ?? undefined,
      },
    ]),
  );
}

/** What a lost delivery of each type would have told of. */
const streamOf: Partial<Record<EventType, 'calls' | 'texts'>> = { AccountSMS: 'texts', AccountEndedCalls: 'calls' };

/**
 * The service's clock and ours differ, and deliveries are under way when a subscription changes. A call is announced at
 * its end and listed by its beginning, so that a gap in calls reaches back as far as calls are long.
 */
const overlapSeconds = { calls: 4 * 3_600, texts: 300 } as const;

/** Receivers look each minute: when nobody did for longer, none may have been there to take deliveries. */
export const unwatchedSeconds = 150;

/**
 * Notes that a subscription loses deliveries, before it is repaired: whoever finds it in place again notes the gap, also
 * when this process does not live to do so.
 */
export async function markBroken(db: Database, type: string): Promise<void> {
  await query(db, `update ops.subscription_watch set state = 'broken' where event_type = $1`, [type]);
}

/**
 * Keeps how a look left the subscriptions, and notes a gap for each that is in place again after it lost deliveries,
 * or after nobody looked: from a little before it was last in place until now.
 */
export async function recordSubscriptions(db: Database, ensured: readonly Ensured[]): Promise<void> {
  const inPlace = ensured.flatMap(({ type, faults, outcome }) => {
    const stream = streamOf[type];
    if (stream === undefined || outcome === 'to_create_by_hand') return [];
    return [{ type, stream, faults: faults.filter((fault) => fault !== 'duplicated').join(', ') }];
  });
  await db.transaction().execute(async (tx) => {
    await query(
      tx,
      `insert into ops.gaps (stream, from_at, to_at, reason)
       select e.stream, w.in_place_at - (case e.stream when 'calls' then $4::integer else $5::integer end) * interval '1 second', now(),
         case when e.faults = '' and w.state = 'in_place' then 'no receiver looked after the webhook subscriptions'
           else format('the webhook subscription of %s was %s', e.event_type, coalesce(nullif(e.faults, ''), 'not there')) end
       from unnest($1::text[], $2::text[], $3::text[]) as e (event_type, stream, faults)
       join ops.subscription_watch w using (event_type)
       where w.in_place_at is not null and (e.faults <> '' or w.state <> 'in_place'
         or w.in_place_at < now() - $6::integer * interval '1 second')`,
      [
        inPlace.map(({ type }) => type),
        inPlace.map(({ stream }) => stream),
        inPlace.map(({ faults }) => faults),
        overlapSeconds.calls,
        overlapSeconds.texts,
        unwatchedSeconds,
      ],
    );
    await query(
      tx,
      `insert into ops.subscription_watch as w
         (event_type, subscription_id, is_created_here, state, in_place_at, last_fault, receiver_hash)
       select event_type, subscription_id, is_created, case when is_by_hand then 'to_create_by_hand' else 'in_place' end,
         case when not is_by_hand then now() end, fault, receiver
       from unnest($1::text[], $2::bigint[], $3::boolean[], $4::boolean[], $5::text[], $6::text[])
         as e (event_type, subscription_id, is_created, is_by_hand, fault, receiver)
       on conflict (event_type) do update set
         subscription_id = excluded.subscription_id, state = excluded.state,
         is_created_here = excluded.is_created_here or (w.is_created_here and w.subscription_id is not distinct from excluded.subscription_id),
         in_place_at = coalesce(excluded.in_place_at, w.in_place_at),
         receiver_hash = coalesce(excluded.receiver_hash, w.receiver_hash),
         shown_hash = case when w.subscription_id is not distinct from excluded.subscription_id
           and w.receiver_hash = coalesce(excluded.receiver_hash, w.receiver_hash) then w.shown_hash end,
         changed_at = case when w.state <> excluded.state or excluded.last_fault is not null then now() else w.changed_at end,
         last_fault = coalesce(excluded.last_fault, w.last_fault)`,
      [
        ensured.map(({ type }) => type),
        ensured.map(({ subscriptionId }) => subscriptionId ?? null),
        ensured.map(({ isCreated }) => isCreated === true),
        ensured.map(({ outcome }) => outcome === 'to_create_by_hand'),
        ensured.map(({ faults }) => (faults.length > 0 ? faults.join(', ') : null)),
        ensured.map(({ url, outcome, isCreated }) =>
          outcome === 'to_create_by_hand' && !isCreated ? null : receiverOf(url),
        ),
      ],
    );
  });
}
