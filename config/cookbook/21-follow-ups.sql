-- Follow-ups
-- After which calls should somebody act, and nobody has been in touch since?
-- says: {count(*)} [call needs|calls need] a follow-up, {count(*) filter (where is_urgent)} of them urgently.
select call_started_at, external_number, agent_name, is_urgent, note, short_summary, call_id
from reporting.fct_action
where is_open
  and call_started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
  and call_started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
order by is_urgent desc, call_started_at, call_id;
