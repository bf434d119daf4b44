-- One row per text sent or received; scheduled texts are included once they are sent. Filter on sent_at, which is indexed. Daily totals are
-- in sms_daily.
create view reporting.fct_sms_message as
select
  m.conversation_id, -- The conversation.
  m.message_id, -- The service's id of the message.
  m.line, -- The account's line.
  m.number, -- The other party, as in dim_contact; for a group, the first participant.
  m.direction, -- in: they texted us; out: we texted them.
  m.sent_at, -- When it was sent.
  (m.sent_at at time zone p.time_zone)::date as local_date, -- Local day.
  -- User whom the service names as the sender (rules may send as a user); NULL for inbound texts and integrations. See dim_user.
  m.sent_by as user_key,
  -- The text, only while params.is_text_shown; also NULL once RETENTION_DAYS has removed it.
  case when p.is_text_shown then m.body end as body,
  coalesce(m.media_count, 0) > 0 as has_media, -- Whether files are attached. Their addresses are secret and not shown.
  -- Segments of an outbound text without files, estimated by sms_segments because the service does not report them. NULL for other texts;
  -- one with files is billed as one MMS.
  case when m.direction = 'out' and coalesce(m.media_count, 0) = 0 then coalesce(reporting.sms_segments(m.body), m.body_segment_count) end as estimated_segment_count,
  u.user_name as sent_by_name, -- That user's name.
  -- customer; user: the service names the user who sent it; automatic: a rule sent it through the send ledger, whoever the service names;
  -- unknown: the service names nobody and the ledger did not send it, so it was another integration, or a person using one.
  case
    when m.direction = 'in' then 'customer'
    when m.send_id is not null or exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) then 'automatic'
    when m.sent_by is not null then 'user'
    when m.direction = 'out' then 'unknown'
  end as sender_kind,
  nullif(m.delivery_status, '') as delivery_status, -- The carrier's own word; NULL = not reported yet, which does not mean failed.
  nullif(m.delivery_error, '') as delivery_error, -- The carrier's detail; NULL where it gave none.
  m.delivery_at, -- When the carrier reported it.
  -- Outbound: delivered, in_flight, failed, unknown, unmapped (the word is missing in delivery_status_map), no_receipt (nothing reported)
  -- or blocked
  -- (the number is blocked on the line; charged all the same). An unmapped word counts as failed if it comes with an error or itself means failure, such as "landline" (see the function
  -- delivery_class). An error without a word also counts as failed.
  reporting.delivery_class(m.direction, m.is_blocked, m.delivery_status, m.delivery_error, d.delivery_class) as delivery_class,
  -- Name of the rule that sent it, as in rule_outcomes; NULL for people and other integrations, and when the ledger no longer has the send.
  case when m.direction = 'out' then coalesce(
    (select o.rule from ops.sends o where o.send_id = m.send_id),
    (select o.rule from ops.sends o where o.line = m.line and o.message_id = m.message_id)
  ) end as rule,
  -- For an inbound text: opt_out, opt_in, unsure (may ask not to be texted) or none. The send gates use the same value. NULL = outbound.
  case when m.direction = 'in' then m.opt_out_verdict end as opt_out_verdict,
  -- Whether it is a phone's reaction to a text, such as Liked “…” or 👍 to “…”. Reactions are no opt-outs, and no turns that wait for a
  -- reply.
  coalesce(m.is_reaction, false) as is_reaction,
  m.changed_at -- When the text or its receipt last changed in the mirror: for incremental imports.
from warehouse.sms_messages m
  cross join reporting.params p
  left join warehouse.sms_conversations c on c.conversation_id = m.conversation_id
  left join reporting.delivery_status_map d on d.word = lower(trim(m.delivery_status))
  left join reporting.dim_user u on u.user_key = m.sent_by
where m.deleted_at is null and m.is_scheduled is not true;
