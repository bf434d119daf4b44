create view reporting.conversation_state as
select
  c.conversation_id,
  c.line,
  c.number,
  c.participants,
  c.message_count,
  c.first_message_at,
  c.last_message_at,
  c.last_inbound_at,
  c.last_outbound_at,
  c.last_direction,
  c.is_resolved,
  c.resolved_by,
  c.resolved_at,
  c.resolved_observed_at,
  c.resolved_observed_via,
  case
    when c.resolved_observed_at is null then 'never_observed'
    when c.last_inbound_at > c.resolved_observed_at then 'stale_since_inbound'
    else 'as_observed'
  end as resolved_confidence,
  case when c.is_assignment_known then c.assigned_user_id end as assigned_user_id,
  u.user_name as assigned_name,
  c.is_assignment_known,
  c.assigned_observed_at,
  c.assigned_observed_via,
  t.turn_started_at as waiting_since_at,
  t.inbound_count as waiting_count,
  extract(epoch from now() - t.turn_started_at)::bigint as waiting_seconds,
  reporting.business_seconds(t.turn_started_at, now(), coalesce(l.schedule_id, p.schedule_id)) as waiting_business_seconds
from warehouse.sms_conversations c
  cross join reporting.params p
  left join reporting.schedule_lines l on l.line = c.line
  left join rollups.sms_turns t on t.conversation_id = c.conversation_id and t.is_last and t.first_reply_at is null
    and (c.is_resolved is not true or c.resolved_at < c.last_inbound_at)
  left join reporting.dim_user u on u.user_id = c.assigned_user_id and c.is_assignment_known
where c.deleted_at is null;

comment on view reporting.conversation_state is 'One row per text conversation. Reactions of phones are only counted as messages. The service cannot be asked whether it is resolved and to whom it is assigned, and sends no event: this is only known from answers to our own requests. Filter on waiting_since_at to find conversations that wait for a reply. Threads that end with an unanswered "thanks" also wait.';
comment on column reporting.conversation_state.conversation_id is 'Key within this warehouse; the service has none.';
comment on column reporting.conversation_state.line is 'The account''s line.';
comment on column reporting.conversation_state.number is 'The other party; of a group, the first participant.';
comment on column reporting.conversation_state.participants is 'Participants of a group besides the line; empty for two parties.';
comment on column reporting.conversation_state.message_count is 'Messages held.';
comment on column reporting.conversation_state.first_message_at is 'Oldest message held.';
comment on column reporting.conversation_state.last_message_at is 'Newest message.';
comment on column reporting.conversation_state.last_inbound_at is 'Newest message of the other party.';
comment on column reporting.conversation_state.last_outbound_at is 'Newest message of ours.';
comment on column reporting.conversation_state.last_direction is 'Direction of the newest message: in or out.';
comment on column reporting.conversation_state.is_resolved is 'As last observed; NULL = never observed.';
comment on column reporting.conversation_state.resolved_by is 'User credited with it; NULL when an integration did it.';
comment on column reporting.conversation_state.resolved_at is 'When it was resolved.';
comment on column reporting.conversation_state.resolved_observed_at is 'When that was observed.';
comment on column reporting.conversation_state.resolved_observed_via is 'By which operation''s answer.';
comment on column reporting.conversation_state.resolved_confidence is 'never_observed; stale_since_inbound: a text has come in since; as_observed: no text has, but people may have changed it in the portal.';
comment on column reporting.conversation_state.assigned_user_id is 'User it is assigned to, as last observed; NULL = nobody, or never observed.';
comment on column reporting.conversation_state.assigned_name is 'That user''s name.';
comment on column reporting.conversation_state.is_assignment_known is 'Whether the assignment was ever observed.';
comment on column reporting.conversation_state.assigned_observed_at is 'When it was observed.';
comment on column reporting.conversation_state.assigned_observed_via is 'By which operation''s answer.';
comment on column reporting.conversation_state.waiting_since_at is 'If the customer wrote last and the conversation is not known to be resolved since: the first text without a reply, after the last pause longer than the session gap of params. NULL = nobody waits.';
comment on column reporting.conversation_state.waiting_count is 'Texts that wait, since then.';
comment on column reporting.conversation_state.waiting_seconds is 'Seconds since then, by the calendar.';
comment on column reporting.conversation_state.waiting_business_seconds is 'Seconds since then, business time only.';
