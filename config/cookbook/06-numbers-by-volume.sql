-- Which of our numbers are called most, and where do callers give up?
select account_number, sum(call_count) as inbound_calls, sum(abandoned_count) as abandoned,
  round(100.0 * sum(abandoned_count) / nullif(sum(answerable_count), 0), 1) as abandoned_pct
from reporting.call_hourly
where direction = 'inbound' and local_date > reporting.local_day(now()) - 30
group by 1
order by inbound_calls desc, 1
limit 25;
