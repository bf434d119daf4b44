-- At which hours of the week do calls ring at agents who do not take them?
-- External calls of the 28 days before today; a call that rang at several agents counts for each.
select extract(isodow from local_date)::integer as isodow, to_char(local_date, 'Dy') as day_name, local_hour, sum(rang_count) as missed,
  sum(answered_count) as answered,
  round(100.0 * sum(answered_count) / nullif(sum(answered_count) + sum(rang_count), 0), 1) as pickup_pct,
  count(distinct user_key) filter (where answered_count > 0) as agents_who_answered
from reporting.agent_hourly
where direction = 'inbound' and local_date between reporting.local_day(now()) - 28 and reporting.local_day(now()) - 1
group by 1, 2, 3
order by missed desc, 1, 3;
