create view reporting.dim_date as
select
  reporting.date_key(day::date) as date_key,
  day::date as local_date,
  extract(isodow from day)::integer as isodow,
  to_char(day, 'Dy') as day_name,
  extract(isodow from day) > 5 as is_weekend,
  date_trunc('week', day)::date as week_start_date,
  extract(isoyear from day)::integer as iso_year,
  extract(week from day)::integer as iso_week,
  date_trunc('month', day)::date as month_start_date,
  extract(month from day)::integer as month_number,
  to_char(day, 'Mon') as month_name,
  date_trunc('quarter', day)::date as quarter_start_date,
  extract(year from day)::integer as calendar_year,
  (extract(year from fiscal.month) + (p.fiscal_year_start_month > 1)::integer)::integer as fiscal_year,
  extract(quarter from fiscal.month)::integer as fiscal_quarter,
  extract(month from fiscal.month)::integer as fiscal_month,
  h.name as holiday_name,
  exists (select from reporting.hours_on(p.schedule_id, day::date)) as is_business_day
from reporting.params p
  cross join generate_series(timestamp '2015-01-01', timestamp '2045-12-31', interval '1 day') day
  -- The month that the day would have if the fiscal year began in January.
  cross join lateral (select date_trunc('month', day) - make_interval(months => p.fiscal_year_start_month - 1) as month) fiscal
  left join reporting.holidays h on h.schedule_id = p.schedule_id and h.holiday_date = day::date;

comment on view reporting.dim_date is 'One row per day from 2015 to 2045. Join it with date_key or local_date, because days without calls or texts have no row elsewhere.';
comment on column reporting.dim_date.date_key is 'The key: the day as yyyymmdd.';
comment on column reporting.dim_date.local_date is 'The day.';
comment on column reporting.dim_date.isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.dim_date.day_name is 'Mon to Sun.';
comment on column reporting.dim_date.is_weekend is 'Saturday or Sunday.';
comment on column reporting.dim_date.week_start_date is 'The Monday of its week.';
comment on column reporting.dim_date.iso_year is 'Year of its ISO week, which can differ from calendar_year around New Year.';
comment on column reporting.dim_date.iso_week is 'ISO week, 1 to 53.';
comment on column reporting.dim_date.month_start_date is 'First day of its month.';
comment on column reporting.dim_date.month_number is '1 to 12.';
comment on column reporting.dim_date.month_name is 'Jan to Dec.';
comment on column reporting.dim_date.quarter_start_date is 'First day of its quarter.';
comment on column reporting.dim_date.calendar_year is 'Its year.';
comment on column reporting.dim_date.fiscal_year is 'The fiscal year, named after the calendar year in which it ends; it begins with fiscal_year_start_month of params.';
comment on column reporting.dim_date.fiscal_quarter is 'Quarter of the fiscal year, 1 to 4.';
comment on column reporting.dim_date.fiscal_month is 'Month of the fiscal year, 1 to 12.';
comment on column reporting.dim_date.holiday_name is 'Holiday of the schedule in use; NULL on other days.';
comment on column reporting.dim_date.is_business_day is 'Whether the schedule in use opens on this day.';
