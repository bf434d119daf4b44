-- Which customers wait for a reply to their text right now?
select t.line, t.number, t.turn_started_at as waiting_since_at,
  round(reporting.business_seconds(t.turn_started_at, now(), coalesce(l.schedule_id, p.schedule_id)) / 3600.0, 1) as business_hours,
  t.inbound_count as waiting_count, t.assigned_name
from reporting.fct_sms_turn t
  cross join reporting.params p
  left join reporting.schedule_lines l on l.line = t.line
where t.is_waiting and t.turn_started_at >= reporting.day_start(reporting.local_day(now()) - 6)
order by waiting_since_at, 1, 2
limit 100;
