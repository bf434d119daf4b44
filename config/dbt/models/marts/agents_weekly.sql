select
  d.week_start_date || '/' || a.user_key || '/' || a.direction as agent_week_key,
  d.week_start_date,
  a.user_key,
  min(u.user_name) as user_name,
  a.direction,
  sum(a.handled_count) as handled_count,
  sum(a.connected_count) as connected_count,
  sum(a.unconnected_count) as unconnected_count,
  round(100.0 * sum(a.placed_connected_count) / nullif(sum(a.placed_connected_count + a.unconnected_count), 0), 2) as connect_rate_pct,
  sum(a.rang_count) as rang_count,
  round(sum(a.talk_seconds)::numeric / nullif(sum(a.talk_count), 0), 1) as talk_avg_seconds
from {{ source('trunkline', 'agent_hourly') }} a
  join {{ source('trunkline', 'dim_date') }} d on d.date_key = a.date_key
  left join {{ source('trunkline', 'dim_user') }} u on u.user_key = a.user_key
group by d.week_start_date, a.user_key, a.direction
