-- Where do callers give up: in the menu, in a queue, or while a telephone rings?
-- By week. Menu: before any queue or telephone. Callers who gave up at once are in at_once, and in no other column.
select date_trunc('week', local_date)::date as week_start_date, count(*) filter (where outcome = 'abandoned') as gave_up,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'menu') as in_the_menu,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'queue') as in_a_queue,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'ringing') as while_ringing,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'unknown') as not_known,
  count(*) filter (where outcome = 'short_abandoned') as at_once
from reporting.fct_call
where direction = 'inbound' and not is_internal and status = 'missed' and started_at >= reporting.day_start(reporting.local_day(now()) - 55)
group by 1
order by 1;
