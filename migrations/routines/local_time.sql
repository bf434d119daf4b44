-- The local day of an instant, by reporting.params.time_zone.
create or replace function reporting.local_day(moment timestamptz) returns date
language sql stable parallel safe as $$
  select (moment at time zone time_zone)::date from reporting.params
$$;

-- The instant at which a local day begins, by reporting.params.time_zone: to filter on started_at or sent_at, which are indexed.
create or replace function reporting.day_start(day date) returns timestamptz
language sql stable parallel safe as $$
  -- If clocks go back to midnight, the day starts at the first of its two midnights, but Postgres takes the second.
  select midnight - greatest(interval '0', (midnight - moment) at time zone time_zone - day + moment)
  from reporting.params
    cross join lateral (select day::timestamp at time zone time_zone as midnight, interval '1 microsecond' as moment) second
$$;

-- The opening hours of a schedule on a local day; no row when it is closed.
create or replace function reporting.hours_on(schedule integer, day date) returns table (opens time, closes time)
language sql stable parallel safe as $$
  select h.opens, h.closes from reporting.business_hours h
  where h.schedule_id = schedule and h.isodow = extract(isodow from day)
    and not exists (select from reporting.holidays x where x.schedule_id = schedule and x.holiday_date = day)
    and not exists (select from reporting.special_hours x where x.schedule_id = schedule and x.on_date = day)
  union all
  select h.opens, h.closes from reporting.special_hours h where h.schedule_id = schedule and h.on_date = day
$$;

-- business_seconds for a from clause, which is faster over many rows: cross join lateral reporting.open_seconds(from_at, to_at,
-- schedule_id). One row.
create or replace function reporting.open_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns table (seconds bigint)
language sql stable parallel safe as $$
  -- Generates local timestamps, not instants: the session's time zone may skip a midnight, which would omit the last day. Where the
  -- clock goes back to the time of an end, as to midnight in Havana, the first of the two counts, as in day_start.
  -- Both ends of a day's hours become instants, so that days with 23 or 25 hours are counted correctly.
  select coalesce(sum(extract(epoch from least(to_at, closes_at) - greatest(from_at, opens_at))), 0)::bigint
  from reporting.schedules s
    cross join lateral (
      select generated::date as day
      from generate_series(date_trunc('day', from_at at time zone s.time_zone), to_at at time zone s.time_zone, interval '1 day') generated
    ) days
    cross join lateral reporting.hours_on(s.schedule_id, day) h
    cross join lateral (
      select (day + h.opens) at time zone s.time_zone as opened, (day + h.closes) at time zone s.time_zone as closed, interval '1 microsecond' as moment
    ) second
    cross join lateral (
      select opened - greatest(interval '0', (opened - moment) at time zone s.time_zone - (day + h.opens) + moment) as opens_at,
        closed - greatest(interval '0', (closed - moment) at time zone s.time_zone - (day + h.closes) + moment) as closes_at
    ) first
  where s.schedule_id = schedule and least(to_at, closes_at) > greatest(from_at, opens_at)
$$;

-- Seconds between two instants in which a schedule is open: weekends, holidays and daylight saving respected; NULL when an instant is NULL.
create or replace function reporting.business_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns bigint
language sql strict stable parallel safe as $$ select seconds from reporting.open_seconds(from_at, to_at, schedule) $$;

-- Whether a schedule is open at an instant: at or after an opening time and before its closing time, on no holiday; NULL when the instant
-- is NULL.
create or replace function reporting.is_open_at(moment timestamptz, schedule integer) returns boolean
language sql strict stable parallel safe as $$
  select exists (
    select from reporting.schedules s
      cross join lateral reporting.hours_on(s.schedule_id, (moment at time zone s.time_zone)::date) h
    where s.schedule_id = schedule and h.opens <= (moment at time zone s.time_zone)::time and (moment at time zone s.time_zone)::time < h.closes
  )
$$;

-- How many segments a text of these words has, estimated: 160 characters of the GSM alphabet, or 70 of any other, and 153 or 67 in each of
-- several. What the service billed stands with texts of rules alone, in sms_daily.
create or replace function reporting.sms_segments(body text) returns integer
language sql immutable strict parallel safe as $$
  -- The characters of the GSM alphabet count as one septet, those of its extension table as two. A character of two units that would
  -- be cut by the end of a segment moves to the next, which is left out: so long a text can have one segment more.
  select case
    when body !~ '[^@£$¥èéùìòÇ\n\rØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&''()*+,./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€-]' then
      (select case when units <= 160 then 1 else ceil(units / 153.0) end
       from (select length(body) + length(regexp_replace(body, '[^\^{}\\[~\]|€]', '', 'g')) as units) gsm)
    else
      (select case when units <= 70 then 1 else ceil(units / 67.0) end
       from (select length(body) + length(regexp_replace(body, '[^\U00010000-\U0010FFFF]', '', 'g')) as units) ucs)
  end::integer
$$;
