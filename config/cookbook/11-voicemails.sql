-- Which voicemails wait for an answer, and what do they say?
select started_at, external_number, caller_name, account_number, returned_by as only_texted_by, short_summary
from reporting.voicemails
where is_unreturned and started_at >= reporting.day_start(reporting.local_day(now()) - 13)
order by started_at desc, call_id
limit 100;
