-- When in the week do people call, and when is nobody there to answer?
-- The 28 days before today, every hour of the week. Callers who gave up at once are in calls, and in no other figure.
select w.isodow, to_char(date '2024-01-01' + w.isodow - 1, 'Dy') as day_name, w.local_hour, coalesce(c.calls, 0) as calls,
  coalesce(c.not_answered, 0) as not_answered, c.answered_pct, rank() over (order by coalesce(c.calls, 0) desc) as busiest_rank,
  rank() over (order by coalesce(c.not_answered, 0) desc) as not_answered_rank
from (select isodow, local_hour from generate_series(1, 7) isodow cross join generate_series(0, 23) local_hour) w
  left join (
    select extract(isodow from local_date)::integer as isodow, local_hour, sum(call_count) as calls,
      sum(answerable_count) - sum(answered_count) as not_answered,
      round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct
    from reporting.call_hourly
    where direction = 'inbound' and local_date between reporting.local_day(now()) - 28 and reporting.local_day(now()) - 1
    group by 1, 2
  ) c on c.isodow = w.isodow and c.local_hour = w.local_hour
order by w.isodow, w.local_hour;
