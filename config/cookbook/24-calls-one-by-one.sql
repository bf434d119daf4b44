-- Calls, one by one
-- Which calls came in and went out?
-- says: {least(count(*), 20000)} [call|calls]{case when count(*) > 20000 then ' and more' else '' end}, {count(*) filter (where outcome = 'answered')} of them answered.
-- The newest 20,000 calls with outside parties.
-- choose: number = select account_number, reporting.number_name(account_number) from reporting.call_hourly where account_number <> '' and local_date > reporting.local_day(now()) - 99 group by 1 order by 2
-- choose: queue = select queue_key, queue_name from reporting.dim_queue order by 2
-- choose: user = select user_key, user_name from reporting.dim_user order by 2
with newest as materialized (
  select c.started_at, c.external_number, case when c.direction = 'outbound' then c.called_name else c.caller_name end as caller_name, c.direction, c.outcome,
    c.account_number, c.queue_key, coalesce(c.answered_user_key, c.placed_user_key) as user_key, c.wait_seconds, c.talk_seconds, c.call_id
  from reporting.fct_call c
  where not c.is_internal
    and c.started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
    and c.started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
    and case coalesce(current_setting('report.number', true), '') when '' then true else c.account_number = current_setting('report.number', true) end
    and case coalesce(current_setting('report.queue', true), '') when '' then true else c.queue_key = current_setting('report.queue', true) end
    and (coalesce(current_setting('report.user', true), '') = '' or exists (
      select from reporting.fct_call_agent a where a.call_id = c.call_id and a.started_at = c.started_at and a.role <> 'rang' and a.user_key::text = current_setting('report.user', true)))
  order by c.started_at desc, c.call_id
  limit 20001
)
select n.started_at, n.external_number, n.caller_name, n.direction, n.outcome, n.account_number, q.queue_name, u.user_name, n.wait_seconds, n.talk_seconds, n.call_id
from newest n
  left join reporting.dim_queue q using (queue_key)
  left join reporting.dim_user u using (user_key)
order by n.started_at desc, n.call_id;
