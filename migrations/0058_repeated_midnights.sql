-- What a release counts in another way is counted anew by it alone: while it takes over, the one before goes on draining
-- markers, and would count it as before.
create table ops.rollup_recounts (
  kind text not null check (kind in ('calls', 'texts')),
  bucket_at timestamptz not null
);
comment on table ops.rollup_recounts is 'Which rollups a migration asks for anew, as its own release counts them. Releases before it do not take them.';
comment on column ops.rollup_recounts.kind is 'calls or texts.';
comment on column ops.rollup_recounts.bucket_at is 'Begin of the quarter of an hour, UTC.';

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
insert into ops.rollup_recounts (kind, bucket_at)
select kind, ops.quarter_of(at) from moved cross join (values ('calls'), ('texts')) every (kind);
