-- How fast does a person reply to a text, by the calendar and in business time?
-- in_business_time: replies with business hours between text and reply. Only these have business time to measure.
select date_trunc('week', reporting.local_day(turn_started_at))::date as week_start_date, count(*) as turns, count(user_reply_seconds) as replied_by_a_person,
  round(percentile_cont(0.5) within group (order by user_reply_seconds)::numeric / 60, 1) as half_within_minutes,
  round(percentile_cont(0.9) within group (order by user_reply_seconds)::numeric / 60, 1) as nine_of_ten_within_minutes,
  count(user_reply_business_seconds) as in_business_time,
  round(percentile_cont(0.5) within group (order by user_reply_business_seconds)::numeric / 60, 1) as half_within_business_minutes
from reporting.fct_sms_turn
where turn_started_at >= reporting.day_start(reporting.local_day(now()) - 55)
group by 1
order by 1;
