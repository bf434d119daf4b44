create view reporting.fct_sms_message as
select
  m.conversation_id,
  m.message_id,
  m.line,
  m.number,
  c.participants_key <> '' as is_group,
  m.direction,
  m.sent_at,
  (m.sent_at at time zone p.time_zone)::date as local_date,
  reporting.date_key((m.sent_at at time zone p.time_zone)::date) as date_key,
  m.line as line_key,
  coalesce(nullif(m.number, ''), 'unknown') as contact_key,
  m.sent_by as user_key,
  case when p.is_text_shown then m.body end as body,
  coalesce(char_length(m.body), m.body_length) as body_length,
  coalesce(m.media_count, 0) > 0 as has_media,
  case when m.direction = 'out' and coalesce(m.media_count, 0) = 0 then coalesce(reporting.sms_segments(m.body), m.body_segment_count) end as estimated_segment_count,
  u.user_name as sent_by_name,
  case
    when m.direction = 'in' then 'customer'
    when m.send_id is not null or exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) then 'automatic'
    when m.sent_by is not null then 'user'
    when m.direction = 'out' then 'unknown'
  end as sender_kind,
  nullif(m.delivery_status, '') as delivery_status,
  nullif(m.delivery_error, '') as delivery_error,
  m.delivery_at,
  reporting.delivery_class(m.direction, m.is_blocked, m.delivery_status, m.delivery_error, d.delivery_class) as delivery_class,
  extract(epoch from m.delivery_at - m.sent_at)::double precision as delivery_seconds,
  m.is_blocked,
  m.block_reason,
  m.send_id,
  case when m.direction = 'out' then coalesce(
    (select o.rule from ops.sends o where o.send_id = m.send_id),
    (select o.rule from ops.sends o where o.line = m.line and o.message_id = m.message_id)
  ) end as rule,
  case when m.direction = 'in' then m.opt_out_verdict end as opt_out_verdict
from warehouse.sms_messages m
  cross join reporting.params p
  left join warehouse.sms_conversations c on c.conversation_id = m.conversation_id
  left join reporting.delivery_status_map d on d.word = lower(trim(m.delivery_status))
  left join reporting.dim_user u on u.user_id = m.sent_by
where m.deleted_at is null and m.is_scheduled is not true;

comment on view reporting.fct_sms_message is 'One row is a text that was sent or came in; scheduled texts are left out until they are sent. Filter on sent_at, which is indexed; day totals stand in sms_daily.';
comment on column reporting.fct_sms_message.conversation_id is 'The conversation.';
comment on column reporting.fct_sms_message.message_id is 'The service''s id of the message.';
comment on column reporting.fct_sms_message.line is 'The account''s line.';
comment on column reporting.fct_sms_message.number is 'The other party; of a group, the first participant.';
comment on column reporting.fct_sms_message.is_group is 'Whether it belongs to a group thread, which counts once however many take part.';
comment on column reporting.fct_sms_message.direction is 'in: they texted us; out: we texted them.';
comment on column reporting.fct_sms_message.sent_at is 'When it was sent.';
comment on column reporting.fct_sms_message.local_date is 'Local day.';
comment on column reporting.fct_sms_message.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_sms_message.line_key is 'The account''s line; see dim_number.';
comment on column reporting.fct_sms_message.contact_key is 'The other party; see dim_contact.';
comment on column reporting.fct_sms_message.user_key is 'User whom the service names as the sender, who can be the one that rules send as; NULL for inbound texts and for integrations. See dim_user.';
comment on column reporting.fct_sms_message.body is 'The text, only while params.is_text_shown; NULL, too, once RETENTION_DAYS removed it.';
comment on column reporting.fct_sms_message.body_length is 'Its length in characters.';
comment on column reporting.fct_sms_message.has_media is 'Whether files are attached. Their addresses are secrets and are not shown.';
comment on column reporting.fct_sms_message.estimated_segment_count is 'Of a text of ours without files: its segments, estimated from its words by sms_segments, since the service reports none. NULL for other texts; one with files is billed as one MMS.';
comment on column reporting.fct_sms_message.sent_by_name is 'That user''s name.';
comment on column reporting.fct_sms_message.sender_kind is 'customer; user: the service names the user who sent it; automatic: a rule did, through the send ledger, whoever the service names; unknown: the service names nobody and the ledger did not send it, so it was another integration, or a person behind one.';
comment on column reporting.fct_sms_message.delivery_status is 'The carrier''s own word; NULL = not reported yet, which is no failure.';
comment on column reporting.fct_sms_message.delivery_error is 'The carrier''s detail; NULL where it gave none.';
comment on column reporting.fct_sms_message.delivery_at is 'When the carrier reported it.';
comment on column reporting.fct_sms_message.delivery_class is 'Outbound: delivered, in_flight, failed, unknown, unmapped (a word that delivery_status_map lacks), no_receipt (nothing reported) or blocked. A word that the map lacks is failed when an error comes with it, or when it says so itself, such as "landline": see the function delivery_class. An error without a word is failed too.';
comment on column reporting.fct_sms_message.delivery_seconds is 'From sending to the carrier''s report.';
comment on column reporting.fct_sms_message.is_blocked is 'Not delivered because the number is blocked on the line; charged all the same.';
comment on column reporting.fct_sms_message.block_reason is 'Why it was blocked.';
comment on column reporting.fct_sms_message.send_id is 'The ledger''s send that produced it; NULL for people and other integrations.';
comment on column reporting.fct_sms_message.rule is 'Name of the rule that sent it, as in rule_outcomes; NULL for people and other integrations, and once the ledger no longer holds the send.';
comment on column reporting.fct_sms_message.opt_out_verdict is 'Of a text that came in: opt_out, opt_in, unsure (may ask not to be texted) or none, as the send gates read it. NULL = sent by us.';
