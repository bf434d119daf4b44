-- Customers who wait for a call
-- Which customers have waited for a call in this time?
-- says: {count(*)} [customer waits|customers wait] for a call, the first since {to_char(min(started_at), 'Dy DD Mon, HH24:MI')}.
-- One row a customer: their newest call that needs a call-back, by the rules file, and that nobody returned. Reason: why it was
-- missed, such as closed or rang. A text of a rule, or one whose sender is unknown, does not return a call: only texted by names it.
select started_at, external_number, caller_name, account_number, reason, wait_seconds, returned_by as only_texted_by, texted_at, call_id
from reporting.missed_calls
where is_waiting
  and started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
  and started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
order by started_at desc, call_id;
