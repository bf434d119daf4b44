import { query, type Transaction } from '../../db/database.ts';
import { deliveryMap, isOpenAt, reachedNobody, replaceRows, scheduleOf, senderKind } from './parts.ts';
import type { Span } from './steps.ts';

/**
 * The missed calls whose return may change if the calls of a span do. They began in the span, or their recorded return
 * or first conversation lies in it. Unless `isAlone`, also those of the callback window before it, if their caller
 * called or was called in the span.
 */
export async function missedByCalls(tx: Transaction, { from, to }: Span, isAlone: boolean): Promise<string[]> {
  return ids(
    tx,
    `with moved as materialized (
       select c.call_id, c.external_number as number, c.direction = 'inbound' and c.status is distinct from 'answered' as is_missed
       from warehouse.calls c where c.started_at >= $1 and c.started_at < $2
     ), contacts as (
       select distinct number from moved where number is not null
     )
     select call_id from moved where is_missed
     union ${heldWith('started_at')}
     union ${heldWith('returned_at')}
     union ${heldWith('reached_at')}
     union select r.call_id from moved join rollups.missed_call_returns r on r.called_back_call_id = moved.call_id
     ${isAlone ? '' : `union ${reached}`}`,
    [from, to],
  );
}

/** The missed calls whose return may change with a span of texts, like {@link missedByCalls}. */
export async function missedByTexts(tx: Transaction, { from, to }: Span, isAlone: boolean): Promise<string[]> {
  return ids(
    tx,
    `with moved as materialized (
       select m.number, m.conversation_id from warehouse.sms_messages m where m.sent_at >= $1 and m.sent_at < $2
     ), contacts as (
       select number from moved
       union
       select unnest(g.participants)
       from (select distinct conversation_id from moved) m
         join warehouse.sms_conversations g on g.conversation_id = m.conversation_id and g.participants_key <> ''
     )
     ${heldWith('returned_at')}
     union ${heldWith('texted_at')}
     ${isAlone ? '' : `union ${reached}`}`,
    [from, to],
  );
}

async function ids(tx: Transaction, text: string, parameters: readonly unknown[]): Promise<string[]> {
  const rows = await query<{ call_id: string }>(tx, text, parameters);
  return rows.map((row) => row.call_id);
}

/** Missed calls whose stored `moment` lies in the span. */
function heldWith(moment: string): string {
  return `select r.call_id from rollups.missed_call_returns r where r.${moment} >= $1 and r.${moment} < $2`;
}

const reached = `
  select c.call_id
  from contacts k
    cross join reporting.params p
    join warehouse.calls c on c.external_number = k.number and c.direction = 'inbound' and c.status is distinct from 'answered'
      and c.started_at >= $1::timestamptz - p.callback_window and c.started_at < $2`;

/** Determines again how missed calls were returned. */
export function rebuildReturns(tx: Transaction, callIds: readonly string[]): Promise<void> {
  return replaceRows(
    tx,
    {
      table: 'missed_call_returns',
      scope: 't.call_id = any($1)',
      fresh: freshReturns,
    },
    [callIds],
  );
}

/** A text counts as a return only if a person is known to have sent it. */
const textKind = `case ${senderKind('s')} when 'automatic' then 'automatic_text' when 'unknown' then 'text_by_unknown' else 'text' end`;

const isReturn = (kind: string) => `${kind} not in ('automatic_text', 'text_by_unknown')`;

/**
 * For each call, when the next calls with the same party began. Reads all calls of a party once: otherwise, each call
 * of a very frequent caller would scan all the others.
 */
const nextCalls = `
    select call_id, outbound_at, through_at, talked_at
    from (
      select c.call_id, c.is_asked,
        min(c.started_at) filter (where c.direction = 'outbound' and c.deleted_at is null) over later as outbound_at,
        min(c.started_at) filter (where c.direction = 'inbound' and c.status = 'answered' and c.deleted_at is null) over later as through_at,
        min(c.started_at) filter (where c.direction in ('inbound', 'outbound') and c.status = 'answered' and c.deleted_at is null)
          over later as talked_at
      from (
        select m.external_number as number, min(m.started_at) as from_at, max(m.started_at) + min(p.callback_window) as to_at
        from warehouse.calls m cross join reporting.params p where m.call_id = any($1) group by 1
      ) k
        cross join lateral (
          select x.*, x.call_id = any($1) as is_asked from warehouse.calls x
          where x.external_number = k.number and x.started_at >= k.from_at and x.started_at <= k.to_at offset 0
        ) c
      window later as (partition by k.number order by c.started_at desc
        range between unbounded preceding and interval '1 microsecond' preceding)
    ) each_call
    where is_asked`;

const foundReturns = `
  select m.call_id, m.started_at, m.local_date, m.outcome, m.reached, m.is_business_hours, m.account_number, m.duration_seconds,
    m.wait_seconds,
    left(nullif(c.called_back_call_id, ''), 200) as called_back_call_id,
    case when c.called_back_call_id <> '' then 'called_back' else f.kind end as returned_by,
    case when c.called_back_call_id <> '' then b.started_at when ${isReturn('f.kind')} then f.happened_at end as returned_at,
    case when c.called_back_call_id <> '' then c.called_back_call_id else f.call_id end as returned_call_id,
    f.texted_at,
    least(case when b.status = 'answered' and b.started_at > m.started_at then b.started_at end,
      case when n.talked_at <= m.started_at + p.callback_window then n.talked_at end) as reached_at
  from reporting.fct_call m
    join warehouse.calls c on c.call_id = m.call_id
    cross join reporting.params p
    left join next_calls n on n.call_id = m.call_id
    left join warehouse.calls b on b.call_id = c.called_back_call_id and b.deleted_at is null
    left join lateral (
      select *, min(happened_at) filter (where not ${isReturn('kind')}) over () as texted_at
      from (
        select n.outbound_at, 'outbound_call', (
          select min(o.call_id) from warehouse.calls o
          where o.external_number = m.external_number and o.started_at = n.outbound_at and o.direction = 'outbound' and o.deleted_at is null)
        where n.outbound_at <= m.started_at + p.callback_window
        union all
        select n.through_at, 'caller_got_through', (
          select min(i.call_id) from warehouse.calls i
          where i.external_number = m.external_number and i.started_at = n.through_at and i.direction = 'inbound' and i.status = 'answered'
            and i.deleted_at is null)
        where n.through_at <= m.started_at + p.callback_window
        union all
        select s.sent_at, ${textKind}, null
        from (
          select * from warehouse.sms_messages where number = m.external_number
          union all
          -- A group goes by the number of one member, and its texts reach all.
          select x.* from warehouse.sms_conversations g join warehouse.sms_messages x on x.conversation_id = g.conversation_id
          where g.participants_key <> '' and g.participants @> array[m.external_number]
        ) s ${deliveryMap('s', 'd')}
        where s.direction = 'out' and s.deleted_at is null and s.is_scheduled is not true and not ${reachedNobody('s', 'd')}
          and s.sent_at > m.started_at and s.sent_at <= m.started_at + p.callback_window
      ) contacts (happened_at, kind, call_id)
      order by ${isReturn('kind')} desc, happened_at, kind limit 1
    ) f on true
  where m.call_id = any($1) and m.started_at is not null and m.direction = 'inbound' and not m.is_internal
    and m.external_number is not null and m.outcome in ('voicemail', 'short_abandoned', 'abandoned', 'missed')`;

/** The first later day on which the schedule `s` of a missed call opens. */
const nextBusinessDay = `(
        select (h.opens_at at time zone s.time_zone)::date from reporting.open_hours h
        where h.schedule = s.schedule and h.opens_at > r.started_at
          and (h.opens_at at time zone s.time_zone)::date > (r.started_at at time zone s.time_zone)::date
        order by h.opens_at limit 1)`;

/** If the service names a call as the return, it may have begun earlier. It counts as returned at once. */
const freshReturns = `
  with next_calls as materialized (${nextCalls}
  ), found as materialized (${foundReturns}
  )
  select r.*,
    case
      when r.returned_at <= r.started_at + interval '1 hour' then '1 hour'
      when r.returned_at <= r.started_at + interval '4 hours' then '4 hours'
      when (r.returned_at at time zone s.time_zone)::date <= ${nextBusinessDay} then '1 business day'
      when r.returned_at is not null then 'later'
    end as returned_within,
    case when r.returned_at - r.started_at < interval '60 years' then extract(epoch from r.returned_at - r.started_at)::integer
    end as return_seconds,
    -- Closed all the way from the call to its return: no business time that a median could measure.
    case when r.returned_at < r.started_at + interval '60 years' then (
      select seconds from reporting.open_seconds(r.started_at, r.returned_at, s.schedule)
      where seconds > 0 or r.is_business_hours or ${isOpenAt('r.returned_at')}) end as return_business_seconds
  from found r
    cross join lateral (${scheduleOf('r.account_number')}) s`;
