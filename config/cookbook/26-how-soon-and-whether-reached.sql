-- How many missed calls do we return within an hour, four hours, a business day, and whom did we reach?
-- By the week in which they were missed; the newest weeks still rise. Callers who gave up at once are left out. Reached:
-- somebody spoke with the caller afterwards. Only tried: nobody answered our calls, or the return was a text.
select date_trunc('week', local_date)::date as week_start_date, count(*) as missed,
  round(100.0 * count(*) filter (where returned_within = '1 hour') / count(*), 1) as within_1_hour_pct,
  round(100.0 * count(*) filter (where returned_within in ('1 hour', '4 hours')) / count(*), 1) as within_4_hours_pct,
  round(100.0 * count(*) filter (where returned_within in ('1 hour', '4 hours', '1 business day')) / count(*), 1) as within_business_day_pct,
  count(*) filter (where reached_at is not null) as reached,
  count(*) filter (where reached_at is null and not is_unreturned) as only_tried,
  count(*) filter (where is_unreturned) as not_returned
from reporting.missed_calls
where outcome <> 'short_abandoned' and local_date > reporting.local_day(now()) - 56
group by 1
order by 1;
