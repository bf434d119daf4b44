-- Where the clock goes back to midnight, the day begins at the first of its two midnights; Postgres takes the second.
create or replace function reporting.day_start(day date) returns timestamptz language sql stable parallel safe as $$
  select midnight - greatest(interval '0', (midnight - moment) at time zone time_zone - day + moment)
  from reporting.params
    cross join lateral (select day::timestamp at time zone time_zone as midnight, interval '1 microsecond' as moment) second
$$;

-- What happened between the two stood on the day before, or on no day.
with moved as (
  select reporting.day_start(day::date) - before as at
  from reporting.params
    cross join generate_series(timestamp '2000-01-01', now()::timestamp, interval '1 day') day
    cross join (values (interval '0'), (interval '15 minutes')) either (before)
  where reporting.day_start(day::date) <> day at time zone time_zone
), sends as (
  insert into ops.send_markers (planned_at, charged_at) select at, at from moved
)
insert into ops.rollup_markers (kind, bucket_at)
select kind, ops.quarter_of(at) from moved cross join (values ('calls'), ('texts')) every (kind);
