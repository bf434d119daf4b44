-- Who called several times this week and never got through?
select external_number, caller_name, inbound_count, first_call_at, last_call_at
from reporting.repeat_callers
where answered_count = 0
order by inbound_count desc, last_call_at desc, 1
limit 50;
