-- Days were counted through by the clock of whoever asked: where theirs skips a midnight, the last day was left out.
create or replace function reporting.open_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns table (seconds bigint)
language sql stable parallel safe as $$
  select coalesce(sum(extract(epoch from
      least(to_at, (day + h.closes) at time zone s.time_zone) - greatest(from_at, (day + h.opens) at time zone s.time_zone))), 0)::bigint
  from reporting.schedules s
    cross join lateral (
      select generated::date as day
      from generate_series(date_trunc('day', from_at at time zone s.time_zone), to_at at time zone s.time_zone, interval '1 day') generated
    ) days
    join reporting.business_hours h on h.schedule_id = s.schedule_id and h.isodow = extract(isodow from day)
  where s.schedule_id = schedule
    and not exists (select from reporting.holidays x where x.schedule_id = schedule and x.holiday_date = day)
    and least(to_at, (day + h.closes) at time zone s.time_zone) > greatest(from_at, (day + h.opens) at time zone s.time_zone)
$$;
