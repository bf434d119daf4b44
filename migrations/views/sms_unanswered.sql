create view reporting.sms_unanswered as
select
  t.conversation_id,
  t.line,
  c.number,
  t.turn_started_at as waiting_since_at,
  extract(epoch from now() - t.turn_started_at)::bigint as waiting_seconds,
  reporting.business_seconds(t.turn_started_at, now(), p.schedule_id) as waiting_business_seconds,
  t.inbound_count,
  c.last_inbound_at,
  c.is_resolved,
  c.resolved_observed_at,
  case when c.is_assignment_known then c.assigned_user_id end as assigned_user_id,
  u.user_name as assigned_name,
  c.is_assignment_known,
  c.assigned_observed_at
from rollups.sms_turns t
  cross join reporting.params p
  join warehouse.sms_conversations c on c.conversation_id = t.conversation_id
  left join reporting.dim_user u on u.user_id = c.assigned_user_id and c.is_assignment_known
where t.first_reply_at is null and t.is_last and c.deleted_at is null
  and (c.is_resolved is not true or c.resolved_at < c.last_inbound_at);

comment on view reporting.sms_unanswered is 'One row is a conversation whose last text is the customer''s and that is not known to be resolved since. Filter on waiting_since_at: whoever never answers a "thanks" has many old ones.';
comment on column reporting.sms_unanswered.conversation_id is 'The conversation.';
comment on column reporting.sms_unanswered.line is 'The account''s line.';
comment on column reporting.sms_unanswered.number is 'The other party; of a group, the first participant.';
comment on column reporting.sms_unanswered.waiting_since_at is 'The first text that nobody replied to, since the last silence that was longer than the session gap of params.';
comment on column reporting.sms_unanswered.waiting_seconds is 'Since then, by the calendar.';
comment on column reporting.sms_unanswered.waiting_business_seconds is 'Since then, counting business time only.';
comment on column reporting.sms_unanswered.inbound_count is 'Texts that wait, since then.';
comment on column reporting.sms_unanswered.last_inbound_at is 'The last of them.';
comment on column reporting.sms_unanswered.is_resolved is 'As last observed; NULL = never observed. The service has no read of this state.';
comment on column reporting.sms_unanswered.resolved_observed_at is 'When it was observed; people can have changed it in the portal since.';
comment on column reporting.sms_unanswered.assigned_user_id is 'User it is assigned to, as last observed; NULL = nobody, or never observed.';
comment on column reporting.sms_unanswered.assigned_name is 'That user''s name.';
comment on column reporting.sms_unanswered.is_assignment_known is 'Whether the assignment was ever observed.';
comment on column reporting.sms_unanswered.assigned_observed_at is 'When it was observed.';
