-- One row per day from 2015 to 2045. Join it with date_key or local_date, because days without calls or texts have no row elsewhere.
create view reporting.dim_date as
select
  reporting.date_key(day::date) as date_key, -- The key: the day as yyyymmdd.
  day::date as local_date, -- The day.
  extract(isodow from day)::integer as isodow, -- Day of the week, 1 = Monday to 7 = Sunday.
  to_char(day, 'Dy') as day_name, -- Mon to Sun.
  extract(isodow from day) > 5 as is_weekend, -- Saturday or Sunday.
  date_trunc('week', day)::date as week_start_date, -- The Monday of its week.
  extract(isoyear from day)::integer as iso_year, -- Year of its ISO week, which can differ from calendar_year around New Year.
  extract(week from day)::integer as iso_week, -- ISO week, 1 to 53.
  date_trunc('month', day)::date as month_start_date, -- First day of its month.
  extract(month from day)::integer as month_number, -- 1 to 12.
  to_char(day, 'Mon') as month_name, -- Jan to Dec.
  date_trunc('quarter', day)::date as quarter_start_date, -- First day of its quarter.
  extract(year from day)::integer as calendar_year, -- Its year.
  -- The fiscal year, named after the calendar year in which it ends; it begins with fiscal_year_start_month of params.
  (extract(year from fiscal.month) + (p.fiscal_year_start_month > 1)::integer)::integer as fiscal_year,
  extract(quarter from fiscal.month)::integer as fiscal_quarter, -- Quarter of the fiscal year, 1 to 4.
  extract(month from fiscal.month)::integer as fiscal_month, -- Month of the fiscal year, 1 to 12.
  h.name as holiday_name, -- Holiday of the schedule in use; NULL on other days.
  exists (select from reporting.hours_on(p.schedule_id, day::date)) as is_business_day -- Whether the schedule in use opens on this day.
from reporting.params p
  cross join generate_series(timestamp '2015-01-01', timestamp '2045-12-31', interval '1 day') day
  -- The month that the day would have if the fiscal year began in January.
  cross join lateral (select date_trunc('month', day) - make_interval(months => p.fiscal_year_start_month - 1) as month) fiscal
  left join reporting.holidays h on h.schedule_id = p.schedule_id and h.holiday_date = day::date;
