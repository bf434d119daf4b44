-- One row per day from 2015 to 2045. Join it with local_date, because days without calls or texts have no row elsewhere.
create view reporting.dim_date as
select
  day::date as local_date, -- The day.
  to_char(day, 'Dy') as day_name, -- Mon to Sun.
  date_trunc('week', day)::date as week_start_date, -- The Monday of its week.
  h.name as holiday_name, -- Holiday of the schedule in use; NULL on other days.
  exists (select from reporting.hours_on(p.schedule_id, day::date)) as is_business_day -- Whether the schedule in use opens on this day.
from reporting.params p
  cross join generate_series(timestamp '2015-01-01', timestamp '2045-12-31', interval '1 day') day
  left join reporting.holidays h on h.schedule_id = p.schedule_id and h.holiday_date = day::date;
