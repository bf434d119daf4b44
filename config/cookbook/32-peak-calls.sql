-- How many calls are in progress at once, at the busiest moment of each day?
-- External calls, ringing, menus and queues included.
select distinct on (local_date) local_date, peak_count as calls_at_once, peak_at
from reporting.concurrent_calls(reporting.local_day(now()) - 27, reporting.local_day(now()))
order by local_date, peak_count desc, peak_at;
