-- Who asked not to be texted any more, and how is that known?
select line, number, decided_at, evidence
from reporting.sms_opt_status
where is_opted_out
order by decided_at desc, 1, 2
limit 200;
