-- How many missed calls do we return within an hour, four hours, a business day, and whom did we reach?
-- By the week in which they were missed; the newest weeks still rise. Shares are of all missed calls. Reached: somebody spoke
-- with the caller afterwards. Only tried: nobody answered our calls, or the return was a text.
select date_trunc('week', local_date)::date as week_start_date, sum(missed_count) as missed,
  round(100.0 * sum(within_1_hour_count) / sum(missed_count), 1) as within_1_hour_pct,
  round(100.0 * sum(within_4_hours_count) / sum(missed_count), 1) as within_4_hours_pct,
  round(100.0 * sum(within_business_day_count) / sum(missed_count), 1) as within_business_day_pct,
  sum(reached_count) as reached, sum(tried_count) as only_tried, sum(unreturned_count) as not_returned
from reporting.callbacks
where local_date > reporting.local_day(now()) - 56
group by 1
order by 1;
