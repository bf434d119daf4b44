-- What is our service level by week, by each of the three formulas?
select date_trunc('week', local_date)::date as week_start_date, sum(call_count) as inbound_calls,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answerable_count) - sum(answer_wait_unknown_count), 0), 1) as of_all_calls_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answer_wait_count) + sum(abandoned_count), 0), 1) as of_answered_and_abandoned_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answer_wait_count), 0), 1) as of_answered_pct,
  sum(answer_wait_unknown_count) as answered_after_unknown_wait
from reporting.call_hourly
where direction = 'inbound' and local_date > reporting.local_day(now()) - 84
group by 1
order by 1;
