-- Replies to texts
-- How fast does a person reply to a text, by the calendar and in business time?
-- says: Half of the replies of people came within {max(whole_half_within_minutes) as half_minutes}; {sum(replied_by_a_person)} of {sum(turns)} [text|texts] got one.
-- figure: median reply: {max(whole_half_within_minutes) as half_minutes}, more is bad
-- draw: line x=local_date y=half_within_minutes:main,nine_of_ten_within_minutes:second log
-- By the day of the text. Automatic replies do not count. In business time: replies with business hours between text and reply.
-- Only these have business time to measure.
with turns as (
  select day::date as local_date, t.user_reply_seconds, t.user_reply_business_seconds
  from generate_series(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)::timestamp,
      coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())), '1 day') day
    join reporting.fct_sms_turn t on t.turn_started_at >= reporting.day_start(day::date) and t.turn_started_at < reporting.day_start(day::date + 1)
)
select local_date, count(*) as turns, count(user_reply_seconds) as replied_by_a_person,
  round(percentile_cont(0.5) within group (order by user_reply_seconds)::numeric / 60, 1) as half_within_minutes,
  round(percentile_cont(0.9) within group (order by user_reply_seconds)::numeric / 60, 1) as nine_of_ten_within_minutes,
  count(user_reply_business_seconds) as in_business_time,
  round(percentile_cont(0.5) within group (order by user_reply_business_seconds)::numeric / 60, 1) as half_within_business_minutes,
  (select round(percentile_cont(0.5) within group (order by user_reply_seconds)::numeric / 60, 1) from turns) as whole_half_within_minutes
from turns
group by 1
order by 1;
