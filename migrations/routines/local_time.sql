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

-- The schedule of a line: that of its office, or '' if no office names the line.
create or replace function reporting.schedule_of(line text) returns text
language sql stable parallel safe as $$
  select coalesce((select l.schedule from reporting.schedule_lines l where l.line = schedule_of.line), '')
$$;

-- business_seconds for a from clause and a schedule, which is faster over many rows: cross join lateral reporting.open_seconds(from_at,
-- to_at, schedule). One row.
create or replace function reporting.open_seconds(from_at timestamptz, to_at timestamptz, schedule text) returns table (seconds bigint)
language sql stable parallel safe as $$
  select coalesce(sum(extract(epoch from least(to_at, h.closes_at) - greatest(from_at, h.opens_at))), 0)::bigint
  from reporting.open_hours h
  -- No span is longer than a day, so the key finds the few that count.
  where h.schedule = open_seconds.schedule and h.opens_at > from_at - interval '2 days' and h.opens_at < to_at and h.closes_at > from_at and from_at < to_at
$$;

-- Seconds between two instants in which a line is open: weekends, holidays and daylight saving respected; NULL when an instant is NULL.
create or replace function reporting.business_seconds(from_at timestamptz, to_at timestamptz, line text default '') returns bigint
language sql strict stable parallel safe as $$ select seconds from reporting.open_seconds(from_at, to_at, reporting.schedule_of(line)) $$;

-- Whether a line is open at an instant: at or after an opening and before its closing; NULL when the instant is NULL.
create or replace function reporting.is_open_at(moment timestamptz, line text default '') returns boolean
language sql strict stable parallel safe as $$
  select exists (
    select from reporting.open_hours h
    where h.schedule = reporting.schedule_of(line) and h.opens_at > moment - interval '2 days' and h.opens_at <= moment and moment < h.closes_at
  )
$$;

-- Estimates the segments of a text. A single segment holds 160 characters of the GSM alphabet, or 70 of any other. Of several segments,
-- each holds 153 or 67. The number that the service billed is known only for texts of rules: see sms_daily.
create or replace function reporting.sms_segments(body text) returns integer
language sql immutable strict parallel safe as $$
  -- The characters of the GSM alphabet count as one septet, those of its extension table as two. A two-unit character that doesn't fit into
  -- a segment moves to the next. This is ignored, so a long text can have one segment more.
  select case
    when body !~ '[^@£$¥èéùìòÇ\n\rØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&''()*+,./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€-]' then
      (select case when units <= 160 then 1 else ceil(units / 153.0) end
       from (select length(body) + length(regexp_replace(body, '[^\^{}\\[~\]|€]', '', 'g')) as units) gsm)
    else
      (select case when units <= 70 then 1 else ceil(units / 67.0) end
       from (select length(body) + length(regexp_replace(body, '[^\U00010000-\U0010FFFF]', '', 'g')) as units) ucs)
  end::integer
$$;
