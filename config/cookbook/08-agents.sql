-- Who handles how many calls, how often do they pick up, and how often does somebody answer theirs?
-- With outside parties: calls among colleagues are of direction internal.
select user_key, user_name, sum(handled_count) as handled, sum(connected_count) as connected, sum(talk_seconds) / 3600 as talk_hours,
  round(100.0 * sum(answered_count) filter (where direction = 'inbound')
    / nullif(sum(answered_count + rang_count) filter (where direction = 'inbound'), 0), 1) as pickup_pct,
  round(100.0 * sum(placed_connected_count) filter (where direction = 'outbound')
    / nullif(sum(placed_connected_count + unconnected_count) filter (where direction = 'outbound'), 0), 1) as connect_pct
from reporting.agent_hourly
where direction <> 'internal' and local_date > reporting.local_day(now()) - 30
group by 1, 2
order by handled desc, 1, 2
limit 50;
