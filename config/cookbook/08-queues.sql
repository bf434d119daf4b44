-- Waits by queue
-- How long do callers wait in each queue, and how many give up?
-- says: {round(100.0 * sum(answered) / nullif(sum(visits), 0)) as answered_pct} of {sum(visits)} callers in queues were answered; {(array_agg(queue_name order by half_answered_within_seconds desc nulls last))[1]}
-- says: takes longest, half of them {max(half_answered_within_seconds) as wait_seconds} or more.
-- draw: bars x=queue_name y=half_answered_within_seconds:main
-- rows: calls-one-by-one
-- Inbound calls by visit, with the wait from its own entry: a call that overflowed is one visit of each queue. Shares leave out callers
-- who gave up at once; in time also visits answered after an unknown wait. Huntgroups: kind = 'huntgroup'.
select v.queue_key, q.queue_name, count(*) as visits, count(*) filter (where v.outcome = 'answered') as answered,
  count(*) filter (where v.outcome = 'abandoned') as abandoned, count(*) filter (where v.outcome = 'overflowed') as overflowed,
  round(100.0 * count(*) filter (where v.outcome = 'answered') / nullif(count(*) filter (where v.outcome <> 'short_abandoned'), 0), 1) as answered_pct,
  round(100.0 * count(*) filter (where v.outcome = 'abandoned') / nullif(count(*) filter (where v.outcome <> 'short_abandoned'), 0), 1) as abandoned_pct,
  round(100.0 * count(*) filter (where v.outcome = 'answered' and v.wait_seconds <= p.service_level_seconds)
    / nullif(count(*) filter (where v.outcome <> 'short_abandoned' and (v.outcome <> 'answered' or v.wait_seconds is not null)), 0), 1) as in_time_pct,
  count(v.wait_seconds) filter (where v.outcome = 'answered') as answered_after_known_wait,
  round(percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'answered')) as half_answered_within_seconds,
  round(percentile_cont(0.9) within group (order by v.wait_seconds) filter (where v.outcome = 'answered')) as nine_of_ten_answered_within_seconds,
  round(percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'abandoned')) as half_gave_up_within_seconds
from reporting.fct_queue_visit v cross join reporting.params p
  left join reporting.dim_queue q on q.queue_key = v.queue_key
where v.kind = 'queue' and v.direction = 'inbound'
  and v.local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1, 2
order by visits desc, 1;
