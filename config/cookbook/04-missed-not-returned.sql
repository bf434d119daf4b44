-- Which missed calls of the last week has nobody returned?
select started_at, external_number, caller_name, account_number, outcome, wait_seconds
from reporting.missed_calls
where is_unreturned and outcome <> 'short_abandoned' and started_at >= now() - interval '7 days'
order by started_at desc
limit 200;
