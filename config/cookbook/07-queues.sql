-- How do the queues do against each other?
-- Inbound calls, with the outcome of the whole call: one that overflowed counts in every queue that it entered, its wait from
-- the first on. Shares leave out callers who gave up at once; in_time_pct also calls answered after an unknown wait.
select endpoint as queue, sum(call_count) as calls, sum(answered_count) as answered, sum(abandoned_count) as abandoned,
  round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct,
  round(100.0 * sum(abandoned_count) / nullif(sum(answerable_count), 0), 1) as abandoned_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answerable_count) - sum(answer_wait_unknown_count), 0), 1) as in_time_pct,
  round(sum(answer_wait_seconds)::numeric / nullif(sum(answer_wait_count), 0), 1) as answer_wait_avg_seconds,
  max(longest_wait_seconds) as longest_wait_seconds, sum(answer_wait_unknown_count) as answered_after_unknown_wait
from reporting.group_daily
where kind = 'queue' and direction = 'inbound' and local_date > reporting.local_day(now()) - 30
group by 1
order by calls desc;
