-- Callers who never got through
-- Who called several times and was never answered?
-- says: {count(*)} [caller|callers] never got through, calling up to {max(calls)} times.
-- The 50 who called most. Calls whose outcome is not known do not count.
with period as (
  select reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6)) as from_at,
    reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1) as to_at
), unanswered as (
  select external_number, count(*) as calls, min(started_at) as first_call_at, max(started_at) as last_call_at
  from reporting.fct_call
  where direction = 'inbound' and not is_internal and external_number is not null and status in ('missed', 'voicemail')
    and started_at >= (select from_at from period) and started_at < (select to_at from period)
  group by 1
  having count(*) > 1
  order by 2 desc, 4 desc, 1
), never_answered as (
  select * from unanswered u
  where not exists (
    select from period join reporting.fct_call c on c.started_at >= from_at and c.started_at < to_at
    where c.external_number = u.external_number and c.direction = 'inbound' and c.status = 'answered')
  order by u.calls desc, u.last_call_at desc, 1
  limit 50
)
select u.external_number, c.caller_name, u.calls, u.first_call_at, u.last_call_at, c.call_id
from never_answered u
  cross join lateral (
    select caller_name, call_id from reporting.fct_call c
    where c.external_number = u.external_number and c.started_at = u.last_call_at and c.direction = 'inbound' and status in ('missed', 'voicemail')
    order by call_id limit 1
  ) c
order by u.calls desc, u.last_call_at desc, 1;
