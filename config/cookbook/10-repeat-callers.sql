-- Callers who never got through
-- Who called several times and was never answered?
-- says: {count(*)} [caller|callers] never got through, calling up to {max(calls)} times.
select external_number, max(caller_name) as caller_name, count(*) as calls, min(started_at) as first_call_at, max(started_at) as last_call_at,
  (array_agg(call_id order by started_at desc))[1] as call_id
from reporting.fct_call
where direction = 'inbound' and not is_internal and external_number is not null
  and started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
  and started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
group by 1
having count(*) > 1 and count(*) filter (where status = 'answered') = 0
order by calls desc, last_call_at desc, 1
limit 50;
