create view reporting.fct_sms_turn as
select
  t.conversation_id,
  t.turn_number,
  t.line,
  t.turn_started_at,
  (t.turn_started_at at time zone p.time_zone)::date as local_date,
  reporting.date_key((t.turn_started_at at time zone p.time_zone)::date) as date_key,
  t.line as line_key,
  t.first_user_reply_by as user_key,
  t.inbound_count,
  t.is_session_start,
  t.is_last,
  t.first_reply_at,
  t.first_reply_kind,
  t.first_user_reply_at,
  t.reply_seconds,
  t.user_reply_seconds,
  t.is_business_hours,
  t.user_reply_business_seconds
from rollups.sms_turns t
  cross join reporting.params p;

comment on view reporting.fct_sms_turn is 'One row per turn of a text conversation: a customer texted, and we had to reply. Reactions of phones (Liked “…”) are left out. Use it for percentiles of response times, which cannot be summed. Filter on turn_started_at, which is indexed.';
comment on column reporting.fct_sms_turn.conversation_id is 'The conversation; with turn_number the key.';
comment on column reporting.fct_sms_turn.turn_number is 'Number of the turn within the conversation, from 1. Outbound texts before the customer''s first belong to none.';
comment on column reporting.fct_sms_turn.line is 'The account''s line; see dim_number.';
comment on column reporting.fct_sms_turn.turn_started_at is 'The customer''s first text of the turn: one that follows a text of ours, or a pause longer than the session gap.';
comment on column reporting.fct_sms_turn.local_date is 'Local day on which the turn began.';
comment on column reporting.fct_sms_turn.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_sms_turn.line_key is 'The account''s line; see dim_number.';
comment on column reporting.fct_sms_turn.user_key is 'The first user to reply, possibly after an automatic reply; NULL = no user did. first_reply_kind says who replied first. See dim_user.';
comment on column reporting.fct_sms_turn.inbound_count is 'Texts of the customer in the turn.';
comment on column reporting.fct_sms_turn.is_session_start is 'Whether the turn began the conversation, or followed a pause longer than the session gap.';
comment on column reporting.fct_sms_turn.is_last is 'Whether it is the newest turn of the conversation.';
comment on column reporting.fct_sms_turn.first_reply_at is 'First outbound text of the turn. Scheduled texts count when they are sent, blocked and failed ones never: these end no turn.';
comment on column reporting.fct_sms_turn.first_reply_kind is 'Who sent it: user; automatic: a rule of the ledger; unknown: the service names no user and the ledger did not send it. NULL = no reply.';
comment on column reporting.fct_sms_turn.first_user_reply_at is 'First text by a user after the turn began, within its session. An automatic reply does not end the wait for it.';
comment on column reporting.fct_sms_turn.reply_seconds is 'From the turn''s first text to the first reply, by the calendar.';
comment on column reporting.fct_sms_turn.user_reply_seconds is 'From the turn''s first text to the first reply of a user, by the calendar.';
comment on column reporting.fct_sms_turn.is_business_hours is 'Whether the schedule of the line was open at turn_started_at. Changed hours take effect after reporting rebuild.';
comment on column reporting.fct_sms_turn.user_reply_business_seconds is 'From the turn''s first text to the first reply by a user, business time only. NULL if there is no reply, or if the schedule was closed all the time between text and reply. So medians include only turns with some business time.';
