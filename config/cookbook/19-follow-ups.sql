-- After which calls should somebody act, and nobody has been in touch since?
select call_started_at, external_number, agent_name, is_urgent, note, short_summary
from reporting.fct_action
where is_open and call_started_at >= reporting.day_start(reporting.local_day(now()) - 6)
order by is_urgent desc, call_started_at, call_id
limit 100;
