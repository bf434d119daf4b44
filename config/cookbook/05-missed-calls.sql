-- Missed calls
-- How are missed calls returned, and how long does it take?
-- says: {sum(not_returned)} of {sum(missed)} missed [call was|calls were] not returned. Half of the {sum(returned_at_known_time)} [other|others] within {max(whole_half_within_minutes) as half_minutes}.
-- figure: Not returned: {sum(not_returned)}, more is bad
-- draw: bars x=from_date y=by_call:good,by_text:second,caller_got_through:fair,not_returned:bad
-- rows: missed-calls-one-by-one
-- By the day on which they were missed; for more than 31 days, by the week. Callers who gave up at once are left out. The times are by the
-- calendar, of calls whose return has a known time. Reached: somebody spoke with the caller afterwards.
with period as materialized (
  select coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 55) as first_day,
    coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) as last_day
), missed as (
  select returned_by, is_unreturned, reached_at, minutes_to_return,
    case when last_day - first_day > 30 then local_date - extract(isodow from local_date)::integer + 1 else local_date end as from_date
  from period join reporting.missed_calls m on m.started_at >= reporting.day_start(first_day) and m.started_at < reporting.day_start(last_day + 1)
  where m.outcome <> 'short_abandoned'
)
select from_date, count(*) as missed, count(*) filter (where returned_by in ('called_back', 'outbound_call')) as by_call,
  count(*) filter (where returned_by = 'text') as by_text, count(*) filter (where returned_by = 'caller_got_through') as caller_got_through,
  count(*) filter (where is_unreturned) as not_returned,
  count(*) filter (where returned_by in ('automatic_text', 'text_by_unknown')) as only_texted_by_rule_or_unknown,
  count(*) filter (where reached_at is not null) as reached,
  round(100.0 * count(*) filter (where not is_unreturned) / count(*), 1) as returned_pct, count(minutes_to_return) as returned_at_known_time,
  round(percentile_cont(0.5) within group (order by minutes_to_return)::numeric, 1) as half_within_minutes,
  round(percentile_cont(0.9) within group (order by minutes_to_return)::numeric, 1) as nine_of_ten_within_minutes,
  (select round(percentile_cont(0.5) within group (order by minutes_to_return)::numeric, 1) from missed) as whole_half_within_minutes
from missed
group by 1
order by 1;
