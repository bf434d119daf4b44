-- When in the week does each number and each queue get its calls, and when does it leave them unanswered?
-- The 28 days before today: of a number calls, of a queue visits. Callers who gave up at once are in calls, and in no other figure.
select 'number' as what, number_key as key, extract(isodow from local_date)::integer as isodow, local_hour, sum(call_count) as calls,
  sum(answerable_count) - sum(answered_count) as not_answered,
  round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct
from reporting.call_hourly
where direction = 'inbound' and local_date between reporting.local_day(now()) - 28 and reporting.local_day(now()) - 1
group by 2, 3, 4
union all
select kind, queue_key, extract(isodow from local_date)::integer, local_hour, count(*),
  count(*) filter (where outcome not in ('answered', 'short_abandoned')),
  round(100.0 * count(*) filter (where outcome = 'answered') / nullif(count(*) filter (where outcome <> 'short_abandoned'), 0), 1)
from reporting.fct_queue_visit
where direction = 'inbound' and local_date between reporting.local_day(now()) - 28 and reporting.local_day(now()) - 1
group by 1, 2, 3, 4
order by 1, 2, 3, 4;
