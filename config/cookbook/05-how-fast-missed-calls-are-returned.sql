-- How are missed calls returned, and how long does it take?
-- Callers who gave up at once are left out, as in 04.
-- By the week in which they were missed; the newest weeks still rise. The times are of returned_at_known_time calls, from
-- the missed call on and by the calendar. They are taken from the calls themselves: medians of days do not add up.
select date_trunc('week', local_date)::date as week_start_date, count(*) as missed,
  count(*) filter (where returned_by in ('called_back', 'outbound_call')) as by_call,
  count(*) filter (where returned_by = 'text') as by_text,
  count(*) filter (where returned_by = 'caller_got_through') as caller_got_through,
  count(*) filter (where is_unreturned) as not_returned,
  count(*) filter (where returned_by = 'automatic_text') as only_texted_by_a_rule,
  count(*) filter (where returned_by = 'text_by_unknown') as only_texted_by_unknown,
  round(100.0 * count(*) filter (where not is_unreturned) / count(*), 1) as returned_pct,
  count(minutes_to_return) as returned_at_known_time,
  round(percentile_cont(0.5) within group (order by minutes_to_return)::numeric, 1) as half_within_minutes,
  round(percentile_cont(0.9) within group (order by minutes_to_return)::numeric, 1) as nine_of_ten_within_minutes
from reporting.missed_calls
where outcome <> 'short_abandoned' and started_at >= reporting.day_start(reporting.local_day(now()) - 55)
group by 1
order by 1;
