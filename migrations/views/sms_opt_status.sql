create view reporting.sms_opt_status as
select distinct on (m.line, m.number)
  m.line,
  m.number,
  reporting.opt_word(m.body) = 'opt_out' as is_opted_out,
  m.sent_at as decided_at,
  'inbound_word' as evidence
from warehouse.sms_messages m
where m.direction = 'in' and reporting.opt_word(m.body) is not null and m.deleted_at is null
order by m.line, m.number, m.sent_at desc nulls last, m.message_id desc;

comment on view reporting.sms_opt_status is 'Numbers that texted a word such as STOP or START as a whole message, per line, with the last one. Who opted out in another way is not here: the service has no list.';
comment on column reporting.sms_opt_status.line is 'The account''s line.';
comment on column reporting.sms_opt_status.number is 'The other party.';
comment on column reporting.sms_opt_status.is_opted_out is 'Whether the last such word was to stop.';
comment on column reporting.sms_opt_status.decided_at is 'When that word came.';
comment on column reporting.sms_opt_status.evidence is 'inbound_word.';
