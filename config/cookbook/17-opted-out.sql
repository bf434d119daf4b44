-- Opt-outs
-- Who asked not to be texted any more, and how is that known?
-- says: {count(*) filter (where opt_status = 'opt_out')} [number|numbers] opted out; {count(*) filter (where opt_status = 'unsure')} may have, and nobody has decided.
-- Of all time, not of a period: an opt-out holds until it is taken back. Unsure: a text may ask so.
select decided_at, number, line, opt_status, evidence, nullif(line, '') || '/' || number as thread
from reporting.sms_opt_status
where opt_status in ('opt_out', 'unsure')
order by decided_at desc, line, number;
