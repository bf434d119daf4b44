-- Agents
-- Who handles how many calls, how often do they pick up, and how often does somebody answer theirs?
-- says: {count(*)} [agent|agents] handled {sum(handled)} calls, {(array_agg(user_name order by handled desc))[1]} most: {max(handled)}.
-- draw: bars x=user_name y=handled:main
-- rows: calls-one-by-one
-- With outside parties: calls among colleagues are of direction internal.
select user_key, u.user_name, a.handled, a.connected, a.talk_hours, a.rang, round(100.0 * a.picked_up / nullif(a.rang, 0), 1) as picked_up_pct,
  a.placed, round(100.0 * a.placed_connected / nullif(a.placed, 0), 1) as connected_pct
from (
  select user_key, sum(handled_count) as handled, sum(connected_count) as connected, round(sum(talk_seconds) / 3600.0, 1) as talk_hours,
    sum(answered_count + rang_count) filter (where direction = 'inbound') as rang,
    sum(answered_count) filter (where direction = 'inbound') as picked_up,
    sum(placed_connected_count + unconnected_count) filter (where direction = 'outbound') as placed,
    sum(placed_connected_count) filter (where direction = 'outbound') as placed_connected
  from reporting.agent_hourly
  where direction <> 'internal'
    and local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
      and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
  group by 1
) a left join reporting.dim_user u using (user_key)
order by a.handled desc, user_key
limit 50;
