create table reporting.schedules (
  schedule_id integer primary key,
  name text not null,
  time_zone text not null
);
insert into reporting.schedules values (1, 'default', 'UTC');
comment on table reporting.schedules is 'When the business is open, by name. reporting.params says which one counts.';
comment on column reporting.schedules.schedule_id is 'Key.';
comment on column reporting.schedules.name is 'What people call it.';
comment on column reporting.schedules.time_zone is 'IANA time zone of its hours.';

create table reporting.business_hours (
  schedule_id integer not null references reporting.schedules,
  isodow integer not null check (isodow between 1 and 7),
  opens time not null,
  closes time not null check (closes > opens),
  primary key (schedule_id, isodow, opens)
);
insert into reporting.business_hours select 1, isodow, '09:00', '17:00' from generate_series(1, 5) isodow;
comment on table reporting.business_hours is 'Opening hours of a week, local time. A day may have several that do not overlap; one without is closed.';
comment on column reporting.business_hours.schedule_id is 'The schedule.';
comment on column reporting.business_hours.isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.business_hours.opens is 'Local time.';
comment on column reporting.business_hours.closes is 'Local time; 24:00 is midnight at the end of the day.';

create table reporting.holidays (
  schedule_id integer not null references reporting.schedules,
  holiday_date date not null,
  name text,
  primary key (schedule_id, holiday_date)
);
comment on table reporting.holidays is 'Days on which a schedule is closed whatever its hours say.';
comment on column reporting.holidays.schedule_id is 'The schedule.';
comment on column reporting.holidays.holiday_date is 'The day, local.';
comment on column reporting.holidays.name is 'What is celebrated.';

create table reporting.params (
  is_only boolean primary key default true check (is_only),
  time_zone text not null default 'UTC',
  service_level_seconds integer not null default 20 check (service_level_seconds in (5, 10, 15, 20, 30, 45, 60, 120)),
  short_abandon_seconds integer not null default 5 check (short_abandon_seconds >= 0),
  callback_window interval not null default '7 days' check (callback_window > '0'),
  session_gap interval not null default '24 hours' check (session_gap > '0'),
  schedule_id integer not null default 1 references reporting.schedules,
  is_text_shown boolean not null default false
);
insert into reporting.params default values;
comment on table reporting.params is 'What the reports mean by their words; one row. After a change of anything but service_level_seconds and is_text_shown: `trunkline reporting rebuild`.';
comment on column reporting.params.is_only is 'There is one row.';
comment on column reporting.params.time_zone is 'IANA time zone of local days and hours in the reports.';
comment on column reporting.params.service_level_seconds is 'Answered within so many seconds is in the service level: 5, 10, 15, 20, 30, 45, 60 or 120. Takes effect at once.';
comment on column reporting.params.short_abandon_seconds is 'An abandoned call that waited no longer than this is short_abandoned: nobody could have answered it.';
comment on column reporting.params.callback_window is 'A missed call counts as returned when somebody got in touch within this time.';
comment on column reporting.params.session_gap is 'A text of the customer after a longer silence begins a new session.';
comment on column reporting.params.schedule_id is 'The schedule that business time is counted in.';
comment on column reporting.params.is_text_shown is 'Whether the views show what people wrote and said. They do not unless somebody sets this.';

-- Each end of a day's hours becomes an instant of its own, so a day with 23 or 25 hours counts what the clock counted.
create function reporting.business_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns bigint language sql strict stable parallel safe as $$
  select coalesce(sum(extract(epoch from
      least(to_at, (day + h.closes) at time zone s.time_zone) - greatest(from_at, (day + h.opens) at time zone s.time_zone))), 0)::bigint
  from reporting.schedules s
    cross join lateral (
      select generated::date as day
      from generate_series((from_at at time zone s.time_zone)::date, (to_at at time zone s.time_zone)::date, interval '1 day') generated
    ) days
    join reporting.business_hours h on h.schedule_id = s.schedule_id and h.isodow = extract(isodow from day)
  where s.schedule_id = schedule
    and not exists (select from reporting.holidays x where x.schedule_id = schedule and x.holiday_date = day)
    and least(to_at, (day + h.closes) at time zone s.time_zone) > greatest(from_at, (day + h.opens) at time zone s.time_zone)
$$;
comment on function reporting.business_seconds is 'Seconds between two instants in which a schedule is open: weekends, holidays and daylight saving respected; NULL when an instant is NULL.';

create function reporting.local_day(moment timestamptz) returns date language sql stable parallel safe as $$
  select (moment at time zone time_zone)::date from reporting.params
$$;
comment on function reporting.local_day is 'The local day of an instant, by reporting.params.time_zone.';

create function reporting.day_start(day date) returns timestamptz language sql stable parallel safe as $$
  select day::timestamp at time zone time_zone from reporting.params
$$;
comment on function reporting.day_start is 'The instant at which a local day begins, by reporting.params.time_zone: to filter on started_at or sent_at, which are indexed.';

create table reporting.delivery_status_map (
  word text primary key check (word = lower(trim(word))),
  delivery_class text not null check (delivery_class in ('delivered', 'in_flight', 'failed', 'unknown'))
);
insert into reporting.delivery_status_map values
  ('delivered', 'delivered'), ('delivrd', 'delivered'), ('success', 'delivered'), ('read', 'delivered'),
  ('sent', 'in_flight'), ('accepted', 'in_flight'), ('acceptd', 'in_flight'), ('queued', 'in_flight'), ('sending', 'in_flight'),
  ('enroute', 'in_flight'), ('buffered', 'in_flight'), ('scheduled', 'in_flight'),
  ('failed', 'failed'), ('undelivered', 'failed'), ('undeliv', 'failed'), ('undeliverable', 'failed'), ('rejected', 'failed'),
  ('rejectd', 'failed'), ('expired', 'failed'), ('deleted', 'failed'), ('canceled', 'failed'),
  ('unknown', 'unknown');
comment on table reporting.delivery_status_map is 'What the carriers'' own words for a delivery mean. The service passes them through and documents none: add what data_quality lists as not mapped, then `trunkline reporting rebuild`.';
comment on column reporting.delivery_status_map.word is 'The carrier''s word in lower case.';
comment on column reporting.delivery_status_map.delivery_class is 'delivered and failed are final; in_flight: on its way, or never reported on again; unknown: the carrier does not know.';
