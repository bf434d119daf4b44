-- How many calls came in and went out each day of the last month?
select d.local_date, to_char(d.local_date, 'Dy') as day_name,
  coalesce(sum(c.call_count) filter (where c.direction = 'inbound'), 0) as inbound,
  coalesce(sum(c.call_count) filter (where c.direction = 'outbound'), 0) as outbound
from (select reporting.local_day(now()) - back as local_date from generate_series(0, 29) back) d
  left join reporting.call_hourly c on c.local_date = d.local_date
group by 1, 2
order by 1;
