-- How many calls came in and went out each day of the last month?
select d.local_date, d.day_name,
  coalesce(sum(c.call_count) filter (where c.direction = 'inbound'), 0) as inbound,
  coalesce(sum(c.call_count) filter (where c.direction = 'outbound'), 0) as outbound
from reporting.dim_date d
  left join reporting.call_hourly c on c.local_date = d.local_date
where d.local_date between reporting.local_day(now()) - 29 and reporting.local_day(now())
group by 1, 2
order by 1;
