select
  d.week_start_date,
  min(d.iso_year) as iso_year,
  min(d.iso_week) as iso_week,
  sum(c.call_count) as call_count,
  sum(c.answered_count) as answered_count,
  sum(c.abandoned_count) as abandoned_count,
  sum(c.short_abandoned_count) as short_abandoned_count,
  sum(c.answer_wait_unknown_count) as answer_wait_unknown_count,
  round(100.0 * sum(c.answered_count) / nullif(sum(c.call_count) - sum(c.short_abandoned_count), 0), 2) as answer_rate_pct,
  -- A rate of a week is one of its sums: the rates of its days do not add up.
  round(100.0 * sum(c.answered_in_time_count)
    / nullif(sum(c.call_count) - sum(c.short_abandoned_count) - sum(c.answer_wait_unknown_count), 0), 2) as service_level_pct,
  round(sum(c.answer_wait_seconds)::numeric / nullif(sum(c.answer_wait_count), 0), 1) as answer_wait_avg_seconds
from {{ source('trunkline', 'call_hourly') }} c
  join {{ source('trunkline', 'dim_date') }} d on d.date_key = c.date_key
where c.direction = 'inbound'
group by d.week_start_date
