create table reporting.sms_turns (
  conversation_id bigint not null,
  turn_number integer not null,
  line text not null,
  turn_started_at timestamptz not null,
  inbound_count integer not null,
  is_session_start boolean not null,
  is_last boolean not null,
  first_reply_at timestamptz,
  first_reply_kind text check (first_reply_kind in ('user', 'automatic')),
  first_user_reply_at timestamptz,
  first_user_reply_by bigint,
  reply_seconds integer,
  user_reply_seconds integer,
  user_reply_business_seconds integer,
  primary key (conversation_id, turn_number)
);
create index sms_turns_started_at on reporting.sms_turns (turn_started_at);
create index sms_turns_unanswered on reporting.sms_turns (turn_started_at) where first_reply_at is null and is_last;
comment on table reporting.sms_turns is 'Every time that a customer texted and it was our turn: from the first text to the reply. Percentiles of response times come from here, since they do not add up.';
comment on column reporting.sms_turns.conversation_id is 'The conversation.';
comment on column reporting.sms_turns.turn_number is 'Which turn of the conversation, from 1. Texts of ours before the customer''s first belong to none.';
comment on column reporting.sms_turns.line is 'The account''s line.';
comment on column reporting.sms_turns.turn_started_at is 'The customer''s first text of the turn: one that follows a text of ours, or a silence longer than the session gap.';
comment on column reporting.sms_turns.inbound_count is 'Texts of the customer in the turn.';
comment on column reporting.sms_turns.is_session_start is 'Whether the turn began the conversation, or followed a silence longer than the session gap.';
comment on column reporting.sms_turns.is_last is 'Whether no later turn is held.';
comment on column reporting.sms_turns.first_reply_at is 'First text of ours in the turn. Scheduled texts count when they are sent, blocked ones never.';
comment on column reporting.sms_turns.first_reply_kind is 'user: a person sent it; automatic: an integration did, this daemon''s rules among them.';
comment on column reporting.sms_turns.first_user_reply_at is 'First text of a person after the turn began and within its session, so that an automatic reply does not end the wait for one.';
comment on column reporting.sms_turns.first_user_reply_by is 'Who wrote it.';
comment on column reporting.sms_turns.reply_seconds is 'From the turn''s first text to the first reply, by the calendar.';
comment on column reporting.sms_turns.user_reply_seconds is 'From the turn''s first text to the first reply of a person, by the calendar.';
comment on column reporting.sms_turns.user_reply_business_seconds is 'The same, counting business time only.';

create table reporting.sms_day_rollup (
  local_date date not null,
  line text not null,
  inbound_count integer not null,
  outbound_count integer not null,
  outbound_user_count integer not null,
  outbound_automatic_count integer not null,
  number_count integer not null,
  conversation_count integer not null,
  media_message_count integer not null,
  delivered_count integer not null,
  failed_count integer not null,
  undetermined_count integer not null,
  no_receipt_count integer not null,
  blocked_count integer not null,
  primary key (local_date, line)
);
comment on table reporting.sms_day_rollup is 'Texts by local day and line; read it through sms_daily.';
comment on column reporting.sms_day_rollup.local_date is 'Local day.';
comment on column reporting.sms_day_rollup.line is 'The account''s line.';
comment on column reporting.sms_day_rollup.inbound_count is 'Texts of customers.';
comment on column reporting.sms_day_rollup.outbound_count is 'Texts of ours, blocked ones included: they were charged.';
comment on column reporting.sms_day_rollup.outbound_user_count is 'Of these, sent by a person.';
comment on column reporting.sms_day_rollup.outbound_automatic_count is 'Of these, sent by an integration.';
comment on column reporting.sms_day_rollup.number_count is 'Different numbers. They do not add up over days or lines.';
comment on column reporting.sms_day_rollup.conversation_count is 'Different conversations. They do not add up over days.';
comment on column reporting.sms_day_rollup.media_message_count is 'Texts with attached files.';
comment on column reporting.sms_day_rollup.delivered_count is 'Outbound: delivered by the carrier''s word.';
comment on column reporting.sms_day_rollup.failed_count is 'Outbound: failed by the carrier''s word.';
comment on column reporting.sms_day_rollup.undetermined_count is 'Outbound: on its way, or a word that is not mapped.';
comment on column reporting.sms_day_rollup.no_receipt_count is 'Outbound: the carrier has reported nothing, which is no failure.';
comment on column reporting.sms_day_rollup.blocked_count is 'Outbound: not delivered because the number is blocked on the line; charged all the same.';

create table reporting.sms_failure_rollup (
  local_date date not null,
  line text not null,
  delivery_class text not null,
  delivery_status text,
  delivery_error text,
  message_count integer not null,
  number_count integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null
);
create index sms_failure_rollup_local_date on reporting.sms_failure_rollup (local_date);
comment on table reporting.sms_failure_rollup is 'Texts that failed, were blocked, or got a word that is not mapped; read it through sms_failures.';
comment on column reporting.sms_failure_rollup.local_date is 'Local day.';
comment on column reporting.sms_failure_rollup.line is 'The account''s line.';
comment on column reporting.sms_failure_rollup.delivery_class is 'failed, blocked or unmapped.';
comment on column reporting.sms_failure_rollup.delivery_status is 'The carrier''s word; NULL where it reported none.';
comment on column reporting.sms_failure_rollup.delivery_error is 'The carrier''s detail; NULL where it gave none.';
comment on column reporting.sms_failure_rollup.message_count is 'Texts.';
comment on column reporting.sms_failure_rollup.number_count is 'Different numbers.';
comment on column reporting.sms_failure_rollup.first_at is 'First of them.';
comment on column reporting.sms_failure_rollup.last_at is 'Last of them.';

create table reporting.sms_response_rollup (
  local_date date not null,
  line text not null,
  turn_count integer not null,
  session_count integer not null,
  replied_count integer not null,
  user_replied_count integer not null,
  automatic_first_count integer not null,
  reply_p50_seconds double precision,
  reply_p90_seconds double precision,
  user_reply_p50_seconds double precision,
  user_reply_p90_seconds double precision,
  user_reply_p50_business_seconds double precision,
  user_reply_p90_business_seconds double precision,
  first_response_count integer not null,
  first_response_p50_seconds double precision,
  first_response_p90_seconds double precision,
  first_response_p50_business_seconds double precision,
  first_response_p90_business_seconds double precision,
  primary key (local_date, line)
);
comment on table reporting.sms_response_rollup is 'Response times by the local day on which the turn began, and line; read it through sms_response_daily.';
comment on column reporting.sms_response_rollup.local_date is 'Local day on which the turns began.';
comment on column reporting.sms_response_rollup.line is 'The account''s line.';
comment on column reporting.sms_response_rollup.turn_count is 'Turns.';
comment on column reporting.sms_response_rollup.session_count is 'Of these, turns that began a session.';
comment on column reporting.sms_response_rollup.replied_count is 'Turns with any reply.';
comment on column reporting.sms_response_rollup.user_replied_count is 'Turns with a reply of a person: the n of the user_reply percentiles.';
comment on column reporting.sms_response_rollup.automatic_first_count is 'Turns that an integration replied to first.';
comment on column reporting.sms_response_rollup.reply_p50_seconds is 'Half of the replies came within this time. Of the replied_count.';
comment on column reporting.sms_response_rollup.reply_p90_seconds is 'Nine of ten replies came within this time. Of the replied_count.';
comment on column reporting.sms_response_rollup.user_reply_p50_seconds is 'Half of the replies of a person.';
comment on column reporting.sms_response_rollup.user_reply_p90_seconds is 'Nine of ten replies of a person.';
comment on column reporting.sms_response_rollup.user_reply_p50_business_seconds is 'The same in business time.';
comment on column reporting.sms_response_rollup.user_reply_p90_business_seconds is 'The same in business time.';
comment on column reporting.sms_response_rollup.first_response_count is 'Sessions that a person replied to: the n of the first_response percentiles.';
comment on column reporting.sms_response_rollup.first_response_p50_seconds is 'First response to a new session, by a person, calendar time.';
comment on column reporting.sms_response_rollup.first_response_p90_seconds is 'First response to a new session, by a person, calendar time.';
comment on column reporting.sms_response_rollup.first_response_p50_business_seconds is 'First response to a new session, by a person, business time.';
comment on column reporting.sms_response_rollup.first_response_p90_business_seconds is 'First response to a new session, by a person, business time.';
