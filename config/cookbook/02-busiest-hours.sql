-- Hours of the week
-- When in the week do people call, and when is nobody there to answer?
-- says: Most calls come on {(array_agg(day_name || ' at ' || local_hour || ':00' order by calls desc) filter (where calls > 0))[1]}; most go unanswered
-- says: on {(array_agg(day_name || ' at ' || local_hour || ':00' order by not_answered desc) filter (where calls > 0))[1]}.
-- draw: heat x=local_hour y=day_name value=calls
-- choose: number = select account_number, reporting.number_name(account_number) from reporting.call_hourly where account_number <> '' and local_date > reporting.local_day(now()) - 99 group by 1 order by 2
-- Every hour of the week, by default of the 28 days before today. Callers who gave up at once are in calls, and in no other figure.
select to_char(date '2024-01-01' + w.isodow - 1, 'Dy') as day_name, w.local_hour, coalesce(c.calls, 0) as calls,
  coalesce(c.not_answered, 0) as not_answered, c.answered_pct, rank() over (order by coalesce(c.calls, 0) desc) as busiest_rank,
  rank() over (order by coalesce(c.not_answered, 0) desc) as not_answered_rank, w.isodow as isodow_key
from (select isodow, local_hour from generate_series(1, 7) isodow cross join generate_series(0, 23) local_hour) w
  left join (
    select extract(isodow from local_date)::integer as isodow, local_hour, sum(call_count) as calls,
      sum(answerable_count) - sum(answered_count) as not_answered,
      round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct
    from reporting.call_hourly
    where direction = 'inbound' and case coalesce(current_setting('report.number', true), '') when '' then true else account_number = current_setting('report.number', true) end
      and local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 28)
        and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()) - 1)
    group by 1, 2
  ) c on c.isodow = w.isodow and c.local_hour = w.local_hour
order by w.isodow, w.local_hour;
