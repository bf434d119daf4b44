-- Which customers have waited for a call since the last week?
-- One row a customer: their newest call that needs a call-back, by the rules file, and that nobody returned. reason: why it was
-- missed, such as closed or rang. A text of a rule, or one whose sender is unknown, does not return a call: only_texted_by names it.
select started_at, external_number, caller_name, account_number, reason, wait_seconds, returned_by as only_texted_by, texted_at
from reporting.missed_calls
where is_waiting and started_at >= reporting.day_start(reporting.local_day(now()) - 6)
order by started_at desc, call_id
limit 200;
