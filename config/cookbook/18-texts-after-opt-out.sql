-- Texts after an opt-out
-- Which texts went out to numbers that had opted out, and who sent them?
-- says: {count(*)} [text|texts] went out to {count(distinct number)} [number|numbers] after an opt-out, {count(*) filter (where sender_kind = 'automatic')} of them by rules.
-- Of opt-outs that hold now, on the line of the text.
select m.sent_at, m.number, m.line, m.sender_kind, coalesce(m.rule, m.sent_by_name) as sent_by, m.delivery_class, o.decided_at as opted_out_at,
  m.line || '/' || m.number as thread
from reporting.sms_opt_status o
  join reporting.fct_sms_message m on m.number = o.number and (o.line = m.line or o.line = '') and m.sent_at > o.decided_at
where o.opt_status = 'opt_out' and m.direction = 'out'
  and m.sent_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29))
  and m.sent_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
order by m.sent_at desc, m.message_id;
