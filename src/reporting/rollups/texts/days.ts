import { query, type Transaction } from '../../../warehouse/database.ts';
import type { Day } from '../day.ts';

/** Rebuilds one local day of texts and of what carriers reported of them. */
export async function rebuildTextDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from reporting.sms_day_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.sms_day_rollup (local_date, line, inbound_count, outbound_count, outbound_user_count,
       outbound_automatic_count, number_count, conversation_count, media_message_count, delivered_count, failed_count,
       undetermined_count, no_receipt_count, blocked_count)
     select $1::date, line, count(*) filter (where direction = 'in'), count(*) filter (where direction = 'out'),
       count(*) filter (where sender_kind = 'user'), count(*) filter (where sender_kind = 'automatic'),
       count(distinct number), count(distinct conversation_id), count(*) filter (where has_media),
       count(*) filter (where delivery_class = 'delivered'), count(*) filter (where delivery_class = 'failed'),
       count(*) filter (where delivery_class in ('in_flight', 'unknown', 'unmapped')),
       count(*) filter (where delivery_class = 'no_receipt'), count(*) filter (where delivery_class = 'blocked')
     from reporting.fct_sms_message where sent_at >= $2 and sent_at < $3
     group by line`,
    [date, from, to],
  );
  await query(tx, 'delete from reporting.sms_failure_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.sms_failure_rollup
       (local_date, line, delivery_class, delivery_status, delivery_error, message_count, number_count, first_at, last_at)
     select $1::date, line, delivery_class, delivery_status, delivery_error, count(*), count(distinct number), min(sent_at), max(sent_at)
     from reporting.fct_sms_message
     where sent_at >= $2 and sent_at < $3 and delivery_class in ('failed', 'blocked', 'unmapped')
     group by 2, 3, 4, 5`,
    [date, from, to],
  );
}

const half = 'percentile_cont(0.5) within group';
const ninetieth = 'percentile_cont(0.9) within group';

/** Rebuilds how fast the turns of one local day were replied to. */
export async function rebuildResponseDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from reporting.sms_response_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.sms_response_rollup (local_date, line, turn_count, session_count, replied_count, user_replied_count,
       automatic_first_count, reply_p50_seconds, reply_p90_seconds, user_reply_p50_seconds, user_reply_p90_seconds,
       user_reply_p50_business_seconds, user_reply_p90_business_seconds, first_response_count, first_response_p50_seconds,
       first_response_p90_seconds, first_response_p50_business_seconds, first_response_p90_business_seconds)
     select $1::date, line, count(*), count(*) filter (where is_session_start), count(first_reply_at), count(first_user_reply_at),
       count(*) filter (where first_reply_kind = 'automatic'),
       ${half} (order by reply_seconds), ${ninetieth} (order by reply_seconds),
       ${half} (order by user_reply_seconds), ${ninetieth} (order by user_reply_seconds),
       ${half} (order by user_reply_business_seconds), ${ninetieth} (order by user_reply_business_seconds),
       count(first_user_reply_at) filter (where is_session_start),
       ${half} (order by user_reply_seconds) filter (where is_session_start),
       ${ninetieth} (order by user_reply_seconds) filter (where is_session_start),
       ${half} (order by user_reply_business_seconds) filter (where is_session_start),
       ${ninetieth} (order by user_reply_business_seconds) filter (where is_session_start)
     from reporting.sms_turns where turn_started_at >= $2 and turn_started_at < $3
     group by line`,
    [date, from, to],
  );
}
