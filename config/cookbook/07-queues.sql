-- How do the queues do against each other?
select endpoint as queue, sum(call_count) as calls,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(call_count) - sum(short_abandoned_count) - sum(answer_wait_unknown_count), 0), 1) as in_time_pct,
  round(sum(answer_wait_seconds)::numeric / nullif(sum(answer_wait_count), 0), 1) as answer_wait_avg_seconds,
  max(longest_wait_seconds) as longest_wait_seconds, sum(answer_wait_unknown_count) as answered_after_unknown_wait
from reporting.group_daily
where kind = 'queue' and local_date > reporting.local_day(now()) - 30
group by 1
order by calls desc;
