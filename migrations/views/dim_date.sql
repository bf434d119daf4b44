create view reporting.dim_date as
select
  day::date as local_date,
  extract(isodow from day)::integer as isodow,
  to_char(day, 'Dy') as day_name,
  date_trunc('week', day)::date as week_start_date,
  date_trunc('month', day)::date as month_start_date,
  date_trunc('quarter', day)::date as quarter_start_date,
  extract(year from day)::integer as calendar_year,
  h.name as holiday_name,
  h.holiday_date is null and exists (
    select from reporting.business_hours b where b.schedule_id = p.schedule_id and b.isodow = extract(isodow from day)
  ) as is_business_day
from reporting.params p
  cross join generate_series(timestamp '2015-01-01', timestamp '2045-12-31', interval '1 day') day
  left join reporting.holidays h on h.schedule_id = p.schedule_id and h.holiday_date = day::date;

comment on view reporting.dim_date is 'Every day from 2015 to 2045, to join with local_date: days without calls or texts have no row elsewhere.';
comment on column reporting.dim_date.local_date is 'The day.';
comment on column reporting.dim_date.isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.dim_date.day_name is 'Mon to Sun.';
comment on column reporting.dim_date.week_start_date is 'The Monday of its week.';
comment on column reporting.dim_date.month_start_date is 'First day of its month.';
comment on column reporting.dim_date.quarter_start_date is 'First day of its quarter.';
comment on column reporting.dim_date.calendar_year is 'Its year.';
comment on column reporting.dim_date.holiday_name is 'The holiday of the schedule that counts; NULL on other days.';
comment on column reporting.dim_date.is_business_day is 'Whether the schedule that counts opens on it.';
