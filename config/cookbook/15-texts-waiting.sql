-- Which customers wait for a reply to their text right now?
select line, number, waiting_since_at, round(waiting_business_seconds / 3600.0, 1) as business_hours, waiting_count, assigned_name
from reporting.conversation_state
where waiting_since_at >= reporting.day_start(reporting.local_day(now()) - 6)
order by waiting_since_at, 1, 2
limit 100;
