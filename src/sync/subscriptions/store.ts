import { type ObjectId, objectId } from '../../api-client/client.ts';
import { type Database, query, relation, sql, type Transaction } from '../../db/database.ts';
import type { EventType } from '../../shared/event-types.ts';

/** What was wrong with a subscription; all but `duplicated` lose deliveries. */
export type Fault = 'disabled' | 'deleted' | 'redirected' | 'retyped' | 'duplicated';

/** A step for the operator in the service's portal. */
export interface ToDo {
  readonly instruction: string;
  /** The step needs the address, which contains the secret. */
  readonly needsAddress: boolean;
}

/** The result of a check of one event type. */
export interface Ensured {
  readonly type: EventType;
  readonly url: string;
  readonly outcome: 'in_place' | 'repaired' | 'created' | 'to_create_by_hand';
  readonly faults: readonly Fault[];
  readonly subscriptionId?: ObjectId;
  /** It was created by this check, whether or not it could be enabled. */
  readonly isCreated?: boolean;
  readonly reason?: string;
  readonly toDo?: ToDo;
}

/*
 * ops.subscription_watch holds the subscription of each wanted event type, as the last check left it. ops.gaps gets a
 * row for each period in which deliveries may have been lost.
 */

export interface StoredSubscription {
  readonly subscriptionId: ObjectId | undefined;
  /** The daemon created it, so it may also repair its address. */
  readonly isCreatedHere: boolean;
}

/** The stored subscriptions by event type. */
export async function storedSubscriptions(db: Database): Promise<Map<string, StoredSubscription>> {
  const rows = await query(
    db,
    sql<{ event_type: string; subscription_id: string | null; is_created_here: boolean }>`
      select event_type, subscription_id, is_created_here from ops.subscription_watch`,
  );
  return new Map(
    rows.map((row) => [
      row.event_type,
      {
        subscriptionId: row.subscription_id === null ? undefined : objectId(row.subscription_id),
        isCreatedHere: row.is_created_here,
      },
    ]),
  );
}

/**
 * The stream whose events a broken subscription of a type may lose: its row in ops.gaps has that period searched. Null
 * if another type announces the same events.
 */
const streamOf: Readonly<Record<EventType, 'calls' | 'texts' | null>> = {
  AccountSMS: 'texts',
  AccountEndedCalls: 'calls',
  AccountRealTimeCalls: null,
  UserEndedCalls: null,
  AccountAITranscription: null,
};

/**
 * Seconds by which a gap starts earlier: clocks differ, and deliveries are in flight when a subscription changes. A
 * call is announced at its end and listed by its start, so a gap of calls also covers a long call.
 */
const overlapSeconds = { calls: 4 * 3_600, texts: 300 } as const;

/**
 * Records that events since a moment may have been lost, whatever the subscriptions were. Other open gaps become due
 * again: the results of their search may be lost too.
 */
export async function recordGaps(tx: Transaction, from: Date, reason: string): Promise<void> {
  await query(tx, sql`update ops.gaps set next_try_at = now() where filled_at is null`);
  const streams = Object.entries(overlapSeconds).map(([stream, overlap]) => ({ stream, overlap }));
  await query(
    tx,
    sql`insert into ops.gaps (stream, from_at, to_at, reason)
      select stream, ${from}::timestamptz - overlap * interval '1 second', clock_timestamp(), ${reason}
      from ${relation('s', streams, { stream: 'text', overlap: 'integer' })}`,
  );
}

/** Seconds between two checks of a receiver. */
export const checkSeconds = 30;

/** Deliveries may be lost after so many seconds without a check. Short outages of the service only delay checks. */
const uncheckedSeconds = 150;
/** For the first check of a process, fewer seconds: a running receiver would have checked within `checkSeconds`. */
const unreceivedSeconds = 45;

/** How the events of a stream are announced. */
export interface Announcing {
  readonly stream: 'calls' | 'texts';
  /** A receiver has recently found the subscription in place. */
  readonly isInPlace: boolean;
  /** Calls or texts since the newest delivery, although the subscription is in place. A single one counts as 0. */
  readonly lost: number;
  /** The time of the newest delivery; not before the subscription was changed. */
  readonly since: Date;
  readonly isPolled: boolean;
}

/**
 * A proxy can refuse all deliveries while subscriptions are in place: events happen, but nothing arrives. An event
 * counts after three minutes, if it happened at least a minute after the delivery, because clocks differ, and in no
 * gap, during which no receiver ran; a restart forgets no loss. After five minutes without a delivery, calls are polled
 * every two minutes, because only events show a loss. Texts are counted each minute anyway.
 */
export async function readAnnouncing(db: Database): Promise<Announcing[]> {
  const wanted = Object.entries(streamOf).flatMap(([type, stream]) =>
    stream === null ? [] : [{ type, stream, overlap: overlapSeconds[stream] }],
  );
  const isLost = (at: string) =>
    sql.raw(`${at} > since + interval '1 minute' and ${at} < now() - interval '3 minutes' and not exists (
      select from ops.gaps g where g.stream = streams.stream and ${at} < g.to_at
        and ${at} > g.from_at + (overlap - 60) * interval '1 second')`);
  return query(
    db,
    sql<Announcing>`with newest as (
       select event_type, received_at from ops.deliveries order by delivery_id desc limit 1000
     ), streams as (
       select e.stream, e.overlap, w.state = 'in_place' and w.in_place_at > now() - ${uncheckedSeconds} * interval '1 second' as in_place,
         greatest(now() - interval '1 day', w.changed_at,
           (select max(received_at) from newest where event_type is null or (event_type = 'AccountSMS') = (e.stream = 'texts')),
           (select min(received_at) from newest having count(*) = 1000)) as since
       from ${relation('e', wanted, { type: 'text', stream: 'text', overlap: 'integer' })} left join ops.subscription_watch w on w.event_type = e.type
     ), counted as (
       select stream, coalesce(in_place, false) as in_place, since, case when in_place then (select count(*)::integer from (
           select from warehouse.calls where stream = 'calls' and started_at > since - interval '1 day' and ${isLost('ended_at')}
             and external_number is not null and deleted_at is null
           union all
           select from warehouse.sms_messages
           where stream = 'texts' and ${isLost('sent_at')} and direction = 'in' and deleted_at is null
         ) event) else 0 end as lost
       from streams
     )
     select stream, in_place as "isInPlace", since, case when lost > 1 then lost else 0 end as lost,
       not in_place or lost > 1 or (stream = 'calls' and since < now() - interval '5 minutes' and exists (
         select from ops.coverage where stream = 'calls' and claimed_until < now() - interval '105 seconds'
           and from_at = date_trunc('hour', now(), 'UTC'))) as "isPolled"
     from counted order by 1`,
  );
}

/** The streams that workers poll: no webhook announces their events, or none has arrived for a while. */
export async function unannouncedStreams(db: Database): Promise<('calls' | 'texts')[]> {
  return (await readAnnouncing(db)).filter(({ isPolled }) => isPolled).map(({ stream }) => stream);
}

/** Records before a repair that a subscription loses deliveries: a gap is recorded even if this process dies first. */
export async function markBroken(db: Database, type: string): Promise<void> {
  await query(db, sql`update ops.subscription_watch set state = 'broken' where event_type = ${type}`);
}

/**
 * Stores the result of a check. Records a gap for each subscription that is in place again after it lost deliveries or
 * wasn't checked: from a little before it was last in place until now. `isFirst`: the receiver hasn't checked before.
 * `others`: the addresses of other receivers by event type, without their secrets.
 */
export async function storeSubscriptions(
  db: Database,
  ensured: readonly Ensured[],
  { isFirst, others }: { readonly isFirst: boolean; readonly others: ReadonlyMap<EventType, readonly string[]> },
): Promise<void> {
  const inPlace = ensured.flatMap(({ type, faults, outcome }) => {
    const stream = streamOf[type];
    if (stream === null || outcome === 'to_create_by_hand') return [];
    const lossy = faults.filter((fault) => fault !== 'duplicated');
    return [{ event_type: type, stream, faults: lossy.join(', '), overlap: overlapSeconds[stream] }];
  });
  await db.transaction().execute(async (tx) => {
    await query(
      tx,
      sql`
        insert into ops.gaps (stream, from_at, to_at, reason)
        select e.stream, w.in_place_at - e.overlap * interval '1 second', now(),
          case when e.faults = '' and w.state = 'in_place' then ${isFirst ? 'no receiver ran' : 'no receiver checked the webhook subscriptions'}
            else format('the webhook subscription of %s was %s', e.event_type, coalesce(nullif(e.faults, ''), 'not there')) end
        from ${relation('e', inPlace, { event_type: 'text', stream: 'text', faults: 'text', overlap: 'integer' })}
        join ops.subscription_watch w using (event_type)
        where w.in_place_at is not null and (e.faults <> '' or w.state <> 'in_place'
          or w.in_place_at < now() - ${isFirst ? unreceivedSeconds : uncheckedSeconds}::integer * interval '1 second')`,
    );
    await query(
      tx,
      sql`
        insert into ops.subscription_watch as w (event_type, subscription_id, is_created_here, state, in_place_at, last_fault, other_receivers)
        select event_type, subscription_id, is_created, state, case when state = 'in_place' then now() end, fault, others
        from ${relation('e', ensured, {
          event_type: ['text', ({ type }) => type],
          subscription_id: ['bigint', ({ subscriptionId }) => subscriptionId],
          is_created: ['boolean', ({ isCreated }) => isCreated === true],
          state: ['text', ({ outcome }) => (outcome === 'to_create_by_hand' ? outcome : 'in_place')],
          fault: ['text', ({ faults }) => (faults.length > 0 ? faults.join(', ') : null)],
          others: ['text[]', ({ type }) => others.get(type) ?? []],
        })}
        on conflict (event_type) do update set
          subscription_id = excluded.subscription_id, state = excluded.state, other_receivers = excluded.other_receivers,
          is_created_here = excluded.is_created_here
            or (w.is_created_here and w.subscription_id is not distinct from excluded.subscription_id),
          in_place_at = coalesce(excluded.in_place_at, w.in_place_at),
          changed_at = case when w.state <> excluded.state or excluded.last_fault is not null then now() else w.changed_at end,
          last_fault = coalesce(excluded.last_fault, w.last_fault)`,
    );
  });
}
