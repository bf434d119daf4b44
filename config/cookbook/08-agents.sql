-- Who handles how many calls, and how often do they pick up?
select user_id, user_name, sum(handled_count) as handled, sum(talk_seconds) / 3600 as talk_hours,
  round(100.0 * sum(handled_count) filter (where direction = 'inbound')
    / nullif(sum(handled_count + rang_count) filter (where direction = 'inbound'), 0), 1) as pickup_pct
from reporting.agent_daily
where local_date > reporting.local_day(now()) - 30
group by 1, 2
order by handled desc
limit 50;
