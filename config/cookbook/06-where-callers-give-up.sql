-- Where callers give up
-- Where do callers give up: in the menu, in a queue, or while a telephone rings?
-- says: {sum(gave_up)} [caller|callers] gave up: {sum(in_the_menu)} in the menu, {sum(in_a_queue)} in a queue and {sum(while_ringing)} while a telephone rang.
-- draw: bars x=local_date y=in_the_menu:second,in_a_queue:bad,while_ringing:fair,not_known:plain
-- rows: missed-calls-one-by-one
-- Menu: before any queue or telephone. Callers who gave up at once are in at once, and in no other column.
select local_date, count(*) filter (where outcome = 'abandoned') as gave_up,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'menu') as in_the_menu,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'queue') as in_a_queue,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'ringing') as while_ringing,
  count(*) filter (where outcome = 'abandoned' and abandoned_in = 'unknown') as not_known,
  count(*) filter (where outcome = 'short_abandoned') as at_once
from reporting.fct_call
where direction = 'inbound' and not is_internal and status = 'missed'
  and started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29))
  and started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
group by 1
order by 1;
