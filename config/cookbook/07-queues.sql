-- How do the queues do against each other?
-- Huntgroups: kind = 'huntgroup'. Inbound calls by visit: what happened in that queue, with the wait from its own entry. A call that overflowed is one visit of
-- each. Shares leave out callers who gave up at once; in_time_pct also visits answered after an unknown wait.
select v.queue_key, q.queue_name, count(*) as visits, count(*) filter (where v.outcome = 'answered') as answered,
  count(*) filter (where v.outcome = 'abandoned') as abandoned, count(*) filter (where v.outcome = 'overflowed') as overflowed,
  round(100.0 * count(*) filter (where v.outcome = 'answered') / nullif(count(*) filter (where v.outcome <> 'short_abandoned'), 0), 1) as answered_pct,
  round(100.0 * count(*) filter (where v.outcome = 'abandoned') / nullif(count(*) filter (where v.outcome <> 'short_abandoned'), 0), 1) as abandoned_pct,
  round(100.0 * count(*) filter (where v.outcome = 'answered' and v.wait_seconds <= p.service_level_seconds)
    / nullif(count(*) filter (where v.outcome <> 'short_abandoned' and (v.outcome <> 'answered' or v.wait_seconds is not null)), 0), 1) as in_time_pct,
  round(percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'answered')) as half_answered_within_seconds,
  round(percentile_cont(0.9) within group (order by v.wait_seconds) filter (where v.outcome = 'answered')) as nine_of_ten_answered_within_seconds,
  round(percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'abandoned')) as half_gave_up_within_seconds,
  count(*) filter (where v.outcome = 'answered' and v.wait_seconds is null) as answered_after_unknown_wait
from reporting.fct_queue_visit v
  cross join reporting.params p
  left join reporting.dim_queue q on q.queue_key = v.queue_key
where v.kind = 'queue' and v.direction = 'inbound' and v.local_date > reporting.local_day(now()) - 30
group by 1, 2
order by visits desc, 1;
