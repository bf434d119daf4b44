-- Missed calls, one by one
-- Which calls were missed, and was each returned?
-- says: {least(count(*), 20000)} missed [call|calls]{case when count(*) > 20000 then ' and more' else '' end}, {count(*) filter (where not is_returned)} of them not returned.
-- choose: number = select account_number, reporting.number_name(account_number) from reporting.call_hourly where account_number <> '' and local_date > reporting.local_day(now()) - 99 group by 1 order by 2
-- choose: queue = select queue_key, queue_name from reporting.dim_queue order by 2
-- The newest 20,000. Callers who gave up at once are left out.
select started_at, external_number, caller_name, outcome, reason, not is_unreturned as is_returned, returned_by, minutes_to_return,
  wait_seconds, account_number, call_id
from reporting.missed_calls
where outcome <> 'short_abandoned'
  and started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
  and started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
  and case coalesce(current_setting('report.number', true), '') when '' then true else account_number = current_setting('report.number', true) end
  and case coalesce(current_setting('report.queue', true), '') when '' then true else queue_key = current_setting('report.queue', true) end
order by started_at desc, call_id
limit 20001;
