-- Which countries and area codes do callers come from?
-- By the number: calling_code is the country's (1: North America), area_code that of a North American number. Without both, none is shown.
select k.calling_code, k.area_code, count(*) as calls, count(distinct c.contact_key) filter (where c.contact_key <> 'unknown') as callers,
  round(100.0 * count(*) filter (where c.outcome = 'answered') / nullif(count(*) filter (where c.outcome <> 'short_abandoned'), 0), 1) as answered_pct
from reporting.fct_call c
  left join reporting.dim_contact k on k.contact_key = c.contact_key
where c.direction = 'inbound' and not c.is_internal and c.started_at >= reporting.day_start(reporting.local_day(now()) - 29)
group by 1, 2
order by calls desc, 1, 2
limit 50;
