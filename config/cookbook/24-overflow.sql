-- Where do callers go on to when a queue does not answer them?
select q.queue_name as queue, coalesce(n.queue_name, v.outcome) as went_on_to, count(*) as visits,
  round(100.0 * count(*) / sum(count(*)) over (partition by v.queue_key), 1) as of_those_who_went_on_pct,
  round(avg(v.wait_seconds), 1) as wait_before_avg_seconds
from reporting.fct_queue_visit v
  left join reporting.dim_queue q on q.queue_key = v.queue_key
  left join reporting.dim_queue n on n.queue_key = v.next_queue_key
where v.direction = 'inbound' and v.outcome in ('overflowed', 'voicemail', 'left') and v.local_date > reporting.local_day(now()) - 30
group by v.queue_key, 1, v.next_queue_key, 2
order by visits desc, 1, 2, v.queue_key, v.next_queue_key;
