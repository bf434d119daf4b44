-- Who asked not to be texted any more?
select line, number, decided_at
from reporting.sms_opt_status
where is_opted_out
order by decided_at desc
limit 200;
