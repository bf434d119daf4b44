create view reporting.sms_opt_status as
select distinct on (line, number) line, number, is_opted_out, decided_at, evidence
from (
  select m.line, m.number, m.opt_out_verdict = 'opt_out' as is_opted_out, coalesce(m.sent_at, m.first_seen_at) as decided_at,
    'inbound_word' as evidence
  from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
  where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in') and m.deleted_at is null and c.participants_key = ''
  union all
  -- A group goes by the number of one member, whoever speaks in it. Apart from the others, so that an index on either number serves.
  select m.line, m.from_number, m.opt_out_verdict = 'opt_out', coalesce(m.sent_at, m.first_seen_at), 'inbound_word'
  from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
  where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in') and m.deleted_at is null and c.participants_key <> ''
    and m.from_number is not null
  union all
  select line, number, true, opted_out_at, 'service_skip' from ops.opt_outs where line <> ''
) said
order by line, number, decided_at desc nulls last, is_opted_out desc;

comment on view reporting.sms_opt_status is 'One row is a line and a number that opted out or in, by the last that is known: a text that says so in any words the send gates understand ("STOP", "please stop texting me"), or a send that the service skipped because they had opted out. Who opted out otherwise, and was sent nothing by a rule since, is not here: the service has no list. Rules text nobody who opted out, on any line but one on which they opted in since.';
comment on column reporting.sms_opt_status.line is 'The account''s line.';
comment on column reporting.sms_opt_status.number is 'The other party; in a group, who wrote the text.';
comment on column reporting.sms_opt_status.is_opted_out is 'Whether the last that is known was to stop; of two in the same second, to stop.';
comment on column reporting.sms_opt_status.decided_at is 'When that text was sent, or when the service said so: it had been decided before.';
comment on column reporting.sms_opt_status.evidence is 'inbound_word: warehouse.sms_messages.opt_out_verdict of a text; or service_skip: learned by the send ledger.';
