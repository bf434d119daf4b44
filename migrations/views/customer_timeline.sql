create view reporting.customer_timeline as
select
  external_number as number,
  started_at as happened_at,
  'call' as channel,
  direction,
  call_id as reference,
  outcome,
  talk_seconds,
  account_number,
  null::text as excerpt
from reporting.fct_call
where external_number is not null
union all
select number, sent_at, 'text', case direction when 'in' then 'inbound' when 'out' then 'outbound' end,
  conversation_id || '/' || message_id, delivery_class, null, line, left(body, 160)
from reporting.fct_sms_message
union all
select number, resolved_observed_at, 'state', null, conversation_id::text, case when is_resolved then 'resolved' else 'open' end, null, line, null
from reporting.conversation_state
where resolved_observed_at is not null
union all
select number, assigned_observed_at, 'state', null, conversation_id::text,
  case when assigned_user_id is null then 'unassigned' else 'assigned to ' || coalesce(assigned_name, 'user ' || assigned_user_id) end, null, line, null
from reporting.conversation_state
where assigned_observed_at is not null;

comment on view reporting.customer_timeline is 'One row is a call, a text or the last observed state of a conversation: everything on one number. Filter on number. Of group threads, the first participant''s number alone.';
comment on column reporting.customer_timeline.number is 'The customer.';
comment on column reporting.customer_timeline.happened_at is 'When; of a state, when it was observed.';
comment on column reporting.customer_timeline.channel is 'call, text or state.';
comment on column reporting.customer_timeline.direction is 'inbound or outbound; NULL for states, and where it is not reported.';
comment on column reporting.customer_timeline.reference is 'The call id; conversation/message of a text; the conversation of a state.';
comment on column reporting.customer_timeline.outcome is 'Of a call as in fct_call; of our text its delivery class; of a state: resolved, open, assigned or unassigned.';
comment on column reporting.customer_timeline.talk_seconds is 'Connected time of a call.';
comment on column reporting.customer_timeline.account_number is 'The account''s number or line.';
comment on column reporting.customer_timeline.excerpt is 'Begin of the text, only while params.is_text_shown.';
