import type { Transaction } from '../../db/database.ts';
import { deliveryMap, isOpenAt, reachedNobody, replaceRows, scheduleOf, senderKind } from './parts.ts';
import type { Day } from './steps.ts';

/** Computes one local day of texts again. */
export async function rebuildTextDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'sms_day_rollup',
      scope: 't.local_date = $1::date',
      fresh: `with texts as materialized (
          select * from reporting.fct_sms_message where sent_at >= $2 and sent_at < $3
        ), failures as (
          select line, jsonb_agg(jsonb_build_object('class', delivery_class, 'status', delivery_status, 'error', delivery_error,
            'texts', texts) order by texts desc, delivery_class, delivery_status, delivery_error) as failures
          from (
            select line, delivery_class, delivery_status, delivery_error, count(*) as texts from texts
            where delivery_class in ('failed', 'blocked', 'unmapped') group by 1, 2, 3, 4
          ) each group by 1
        )
        select $1::date as local_date, line, count(*) filter (where direction = 'in') as inbound_count,
          count(*) filter (where direction = 'out') as outbound_count,
          count(*) filter (where sender_kind = 'user') as outbound_user_count,
          count(*) filter (where sender_kind = 'automatic') as outbound_automatic_count,
          count(*) filter (where sender_kind = 'unknown') as outbound_unknown_count,
          count(*) filter (where delivery_class = 'delivered') as delivered_count,
          count(*) filter (where delivery_class = 'failed') as failed_count,
          count(*) filter (where delivery_class in ('in_flight', 'unknown', 'unmapped')) as undetermined_count,
          count(*) filter (where delivery_class = 'no_receipt') as no_receipt_count,
          count(*) filter (where delivery_class = 'blocked') as blocked_count,
          coalesce((select f.failures from failures f where f.line = texts.line), '[]') as failures
        from texts group by line`,
    },
    [date, from, to],
  );
}

// An outbound text after a long pause still answers. Only a customer's text begins a session.
const beginsSession = `t.direction = 'in' and (t.before_at is null or t.sent_at - t.before_at > p.session_gap)`;

// One message with an absurd date must not stop the drain.
const seconds = (length: string) => `case when ${length} > 2147483647 then 2147483647 else ${length} end::integer`;

/**
 * The turns of conversations, derived from the messages that reached somebody. Time, message and sender of a person's
 * reply are kept as one value.
 */
const freshTurns = `
  with texts as (
    select m.conversation_id, m.message_id, m.line, m.direction, m.sent_at, m.sent_by,
      case when m.direction = 'out' then ${senderKind('m')} end as sender_kind,
      lag(m.direction) over sent as before_direction, lag(m.sent_at) over sent as before_at
    from warehouse.sms_messages m ${deliveryMap('m', 'd')}
    where m.conversation_id = any($1::bigint[]) and m.sent_at is not null and m.direction in ('in', 'out')
      and m.is_scheduled is not true and m.is_reaction is not true and m.deleted_at is null
      and (${reachedNobody('m', 'd')}) is not true
    window sent as (partition by m.conversation_id order by m.sent_at, m.message_id)
  ),
  numbered as (
    select t.*,
      sum((${beginsSession})::integer) over sent as session_number,
      sum((t.direction = 'in' and (t.before_direction is distinct from 'in' or t.sent_at - t.before_at > p.session_gap))::integer)
        over sent as turn_number
    from texts t cross join reporting.params p
    window sent as (partition by t.conversation_id order by t.sent_at, t.message_id)
  ),
  answered as (
    select n.*,
      min(case when n.sender_kind = 'user'
        then array[(extract(epoch from n.sent_at) * 1000000)::bigint, n.message_id, n.sent_by] end)
        over (partition by n.conversation_id, n.session_number order by n.sent_at desc, n.message_id desc) as user_reply
    from numbered n
  ),
  turns as (
    select conversation_id, turn_number::integer, min(line) as line,
      min(sent_at) filter (where direction = 'in') as turn_started_at,
      (count(*) filter (where direction = 'in'))::integer as inbound_count,
      turn_number = max(turn_number) over (partition by conversation_id) as is_last,
      min(sent_at) filter (where direction = 'out') as first_reply_at,
      (array_agg(sender_kind order by sent_at, message_id) filter (where direction = 'out'))[1] as first_reply_kind,
      min(user_reply) as user_reply
    from answered where turn_number > 0
    group by conversation_id, turn_number
  )
  select t.conversation_id, t.turn_number, t.line, t.turn_started_at, t.inbound_count, t.is_last,
    t.first_reply_at, t.first_reply_kind, r.replied_by as first_user_reply_by,
    ${seconds('extract(epoch from t.first_reply_at - t.turn_started_at)')} as reply_seconds,
    ${seconds('extract(epoch from r.replied_at - t.turn_started_at)')} as user_reply_seconds,
    ${isOpenAt('t.turn_started_at')} as is_business_hours,
    -- A reply while the business was closed all along took no business time that a median could measure.
    case when open.seconds > 0 or ${isOpenAt('t.turn_started_at')} or ${isOpenAt('r.replied_at')}
      then case when r.replied_at is not null then ${seconds('open.seconds')} end end as user_reply_business_seconds
  from turns t
    cross join lateral (${scheduleOf('t.line')}) s
    cross join lateral (
      select timestamptz 'epoch' + t.user_reply[1] * interval '1 microsecond' as replied_at, t.user_reply[3] as replied_by
    ) r
    cross join lateral reporting.open_seconds(t.turn_started_at, r.replied_at, s.schedule) open`;

/** Computes the turns of conversations again. */
export async function rebuildTurns(tx: Transaction, conversationIds: readonly string[]): Promise<void> {
  if (conversationIds.length === 0) return;
  await replaceRows(
    tx,
    {
      table: 'sms_turns',
      scope: 't.conversation_id = any($1::bigint[])',
      fresh: freshTurns,
    },
    [conversationIds],
  );
}
