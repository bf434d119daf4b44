-- Who asked not to be texted any more, and how is that known?
-- unsure: a text may ask so, and nobody has decided.
select line, number, opt_status, decided_at, evidence
from reporting.sms_opt_status
where opt_status in ('opt_out', 'unsure')
order by decided_at desc, 1, 2
limit 200;
