-- One row per text conversation. Reactions of phones are only counted as messages. The service cannot be asked whether it is resolved and
-- to whom it is assigned, and sends no event: this is only known from answers to our own requests. Filter on waiting_since_at to find
-- conversations that wait for a reply. Threads that end with an unanswered "thanks" also wait.
create view reporting.conversation_state as
select
  c.conversation_id, -- Key within this warehouse; the service has none.
  c.line, -- The account's line.
  c.number, -- The other party; of a group, the first participant.
  c.participants, -- Participants of a group besides the line; empty for two parties.
  c.message_count, -- Messages held.
  c.first_message_at, -- Oldest message held.
  c.last_message_at, -- Newest message.
  c.last_inbound_at, -- Newest message of the other party.
  c.last_outbound_at, -- Newest message of ours.
  c.last_direction, -- Direction of the newest message: in or out.
  c.is_resolved, -- As last observed; NULL = never observed.
  c.resolved_by, -- User credited with it; NULL when an integration did it.
  c.resolved_observed_at, -- When that was observed.
  -- never_observed; stale_since_inbound: a text has come in since; as_observed: no text has, but people may have changed it in the portal.
  case
    when c.resolved_observed_at is null then 'never_observed'
    when c.last_inbound_at > c.resolved_observed_at then 'stale_since_inbound'
    else 'as_observed'
  end as resolved_confidence,
  -- User it is assigned to, as last observed; NULL = nobody, or never observed.
  case when c.is_assignment_known then c.assigned_user_id end as assigned_user_id,
  u.user_name as assigned_name, -- That user's name.
  c.is_assignment_known, -- Whether the assignment was ever observed.
  -- If the customer wrote last and the conversation is not known to be resolved since: the first text without a reply, after the last pause
  -- longer than the session gap of params. NULL = nobody waits.
  t.turn_started_at as waiting_since_at,
  t.inbound_count as waiting_count, -- Texts that wait, since then.
  -- Seconds since then, business time only.
  reporting.business_seconds(t.turn_started_at, now(), coalesce(l.schedule_id, p.schedule_id)) as waiting_business_seconds
from warehouse.sms_conversations c
  cross join reporting.params p
  left join reporting.schedule_lines l on l.line = c.line
  left join rollups.sms_turns t on t.conversation_id = c.conversation_id and t.is_last and t.first_reply_at is null
    and (c.is_resolved is not true or c.resolved_at < c.last_inbound_at)
  left join reporting.dim_user u on u.user_id = c.assigned_user_id and c.is_assignment_known
where c.deleted_at is null;
