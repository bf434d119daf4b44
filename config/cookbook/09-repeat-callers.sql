-- Who called several times this week and never got through?
select external_number, max(caller_name) as caller_name, count(*) as calls, min(started_at) as first_call_at, max(started_at) as last_call_at
from reporting.fct_call
where direction = 'inbound' and not is_internal and external_number is not null
  and started_at >= reporting.day_start(reporting.local_day(now()) - 6)
group by 1
having count(*) > 1 and count(*) filter (where status = 'answered') = 0
order by calls desc, last_call_at desc, 1
limit 50;
