-- How do we do while we are open, and how many calls come while we are closed?
-- Inbound calls by week. Shares leave out callers who gave up at once; in_time_pct also calls answered after an unknown wait.
select date_trunc('week', local_date)::date as week_start_date, is_business_hours, sum(call_count) as calls, sum(answered_count) as answered,
  sum(answerable_count) - sum(answered_count) as not_answered,
  round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answerable_count) - sum(answer_wait_unknown_count), 0), 1) as in_time_pct
from reporting.call_hourly
where direction = 'inbound' and local_date > reporting.local_day(now()) - 56
group by 1, 2
order by 1, 2 desc;
