-- How many people call, how many for the first time, how many call again, and for how many is one call enough?
-- By week, of callers who show a number. Call again: within 7 days of their last call; write another interval to change that.
-- One call was enough: somebody answered, and the caller did not call again within 7 days. That is a proxy for first contact
-- resolution, since the service does not know why people call; it is of answered calls that no other had preceded.
-- For the first time: no earlier call is held, so who called before the begin of the back-fill alone counts as new.
select date_trunc('week', local_date)::date as week_start_date, count(*) as calls, count(distinct contact_key) as callers,
  count(*) filter (where is_first_time) as first_time_callers, count(*) filter (where is_repeat) as repeat_calls,
  round(100.0 * count(*) filter (where is_repeat) / count(*), 1) as repeat_pct,
  round(100.0 * count(*) filter (where is_resolved and not is_repeat) / nullif(count(is_resolved) filter (where not is_repeat), 0), 1) as one_call_was_enough_pct
from reporting.caller_calls(reporting.local_day(now()) - 27, reporting.local_day(now()), '7 days')
group by 1
order by 1;
