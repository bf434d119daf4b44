-- Definitions that the owner may change

create table reporting.schedules (
  schedule_id integer primary key,
  name text not null,
  time_zone text not null
);
comment on table reporting.schedules is 'Opening hours of the business, by name. reporting.params names the one in use; workers update that one from business_hours of the rules file, and those of the same names from its offices.';
comment on column reporting.schedules.schedule_id is 'Key.';
comment on column reporting.schedules.name is 'What people call it.';
comment on column reporting.schedules.time_zone is 'IANA time zone of its hours.';
insert into reporting.schedules values (1, 'default', 'UTC');

create table reporting.business_hours (
  schedule_id integer not null references reporting.schedules,
  isodow integer not null check (isodow between 1 and 7),
  opens time not null,
  closes time not null,
  primary key (schedule_id, isodow, opens),
  check (closes > opens)
);
comment on table reporting.business_hours is 'Opening hours of a week in local time. The rules file''s business_hours overwrite those of the schedule in use. A day can have several, without overlaps; a day without any is closed.';
comment on column reporting.business_hours.schedule_id is 'The schedule.';
comment on column reporting.business_hours.isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.business_hours.opens is 'Local time.';
comment on column reporting.business_hours.closes is 'Local time; 24:00 is midnight at the end of the day.';
insert into reporting.business_hours select 1, isodow, '09:00', '17:00' from generate_series(1, 5) isodow;

create table reporting.holidays (
  schedule_id integer not null references reporting.schedules,
  holiday_date date not null,
  name text,
  primary key (schedule_id, holiday_date)
);
comment on table reporting.holidays is 'Days on which a schedule is closed all day. The rules file''s business_hours overwrite those of the schedule in use.';
comment on column reporting.holidays.schedule_id is 'The schedule.';
comment on column reporting.holidays.holiday_date is 'The day, local.';
comment on column reporting.holidays.name is 'Name of the holiday.';

create table reporting.special_hours (
  schedule_id integer not null references reporting.schedules,
  on_date date not null,
  opens time not null,
  closes time not null,
  primary key (schedule_id, on_date, opens),
  check (closes > opens)
);
comment on table reporting.special_hours is 'Opening hours of single days, such as half days, in the place of those of their weekday. Days without any row here that are no holidays have those of the week. From the rules file, like business_hours.';
comment on column reporting.special_hours.schedule_id is 'The schedule.';
comment on column reporting.special_hours.on_date is 'The day, local.';
comment on column reporting.special_hours.opens is 'Local time.';
comment on column reporting.special_hours.closes is 'Local time; 24:00 is midnight at the end of the day.';

create table reporting.schedule_lines (
  line text primary key,
  schedule_id integer not null references reporting.schedules
);
comment on table reporting.schedule_lines is 'The schedule of each line that has another one than reporting.params names. From offices of the rules file.';
comment on column reporting.schedule_lines.line is 'A number of the account.';
comment on column reporting.schedule_lines.schedule_id is 'Its schedule.';

create table reporting.params (
  is_only boolean default true primary key check (is_only),
  time_zone text not null default 'UTC',
  service_level_seconds integer not null default 20 check (service_level_seconds in (5, 10, 15, 20, 30, 45, 60, 120)),
  short_abandon_seconds integer not null default 5 check (short_abandon_seconds >= 0),
  callback_window interval not null default '7 days' check (callback_window > '00:00:00'),
  session_gap interval not null default '24:00:00' check (session_gap > '00:00:00'),
  schedule_id integer not null default 1 references reporting.schedules,
  is_text_shown boolean not null default false,
  missed_reached text[] not null default '{queue,rang,mailbox}',
  missed_seconds integer not null default 5,
  fiscal_year_start_month integer not null default 1 check (fiscal_year_start_month between 1 and 12)
);
comment on table reporting.params is 'Definitions used by the reports; one row. After changing anything except service_level_seconds, fiscal_year_start_month, is_text_shown, missed_reached and missed_seconds, run `npx trunkline reporting rebuild`.';
comment on column reporting.params.is_only is 'There is one row.';
comment on column reporting.params.time_zone is 'IANA time zone of local days and hours in the reports.';
comment on column reporting.params.service_level_seconds is 'A call answered within this many seconds is within the service level: 5, 10, 15, 20, 30, 45, 60 or 120. Takes effect at once.';
comment on column reporting.params.short_abandon_seconds is 'An abandoned call that waited no longer than this is short_abandoned: nobody could have answered it.';
comment on column reporting.params.callback_window is 'A missed call counts as returned if a person gets in touch within this time. A text without a known sender does not count.';
comment on column reporting.params.session_gap is 'A text of the customer after a longer pause begins a new session.';
comment on column reporting.params.schedule_id is 'The schedule used for business time, except by the lines in schedule_lines.';
comment on column reporting.params.missed_reached is 'How far the caller of a missed call that needs a call-back came. Workers copy it from missed of the rules file. Takes effect at once.';
comment on column reporting.params.missed_seconds is 'How long such a call lasted at least; also from the rules file. Takes effect at once.';
comment on column reporting.params.fiscal_year_start_month is 'The month that a fiscal year begins with, 1 to 12. Takes effect at once.';
comment on column reporting.params.is_text_shown is 'Whether views show what people wrote and said and what the analysis wrote about it, and whether reporting.search finds it. Default: no. Names and numbers are always shown.';
insert into reporting.params default values;
-- Autovacuum never analyses so small a table, and the planner would expect hundreds of rows in the views that join it.
analyze reporting.params;

create table reporting.delivery_status_map (
  word text primary key check (word = lower(trim(word))),
  delivery_class text not null check (delivery_class in ('delivered', 'in_flight', 'failed', 'unknown'))
);
comment on table reporting.delivery_status_map is 'The meaning of the carriers'' own delivery words, which the service does not document. Add the words that data_quality lists as not mapped, then run `npx trunkline reporting rebuild`.';
comment on column reporting.delivery_status_map.word is 'The carrier''s word in lower case.';
comment on column reporting.delivery_status_map.delivery_class is 'delivered and failed are final; in_flight: on its way, or never reported again; unknown: the carrier does not know.';
insert into reporting.delivery_status_map values
  ('delivered', 'delivered'), ('delivrd', 'delivered'), ('success', 'delivered'), ('read', 'delivered'),
  ('sent', 'in_flight'), ('accepted', 'in_flight'), ('acceptd', 'in_flight'), ('queued', 'in_flight'), ('sending', 'in_flight'),
  ('enroute', 'in_flight'), ('buffered', 'in_flight'), ('scheduled', 'in_flight'),
  ('failed', 'failed'), ('undelivered', 'failed'), ('undeliv', 'failed'), ('undeliverable', 'failed'), ('rejected', 'failed'),
  ('rejectd', 'failed'), ('expired', 'failed'), ('deleted', 'failed'), ('canceled', 'failed'),
  ('unknown', 'unknown');

-- Upkeep of the rollups

create table ops.rollup_markers (
  marker_id bigint generated always as identity primary key,
  kind text not null check (kind in ('calls', 'texts', 'thread')),
  bucket_at timestamptz,
  conversation_id bigint,
  marked_at timestamptz not null default clock_timestamp(),
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);
comment on table ops.rollup_markers is 'Days whose rollups are out of date. Written together with the fact, deleted when the day has been computed again.';
comment on column ops.rollup_markers.marker_id is 'Order of marking.';
comment on column ops.rollup_markers.kind is 'calls or texts: only a quarter of an hour of the day has changed; thread: the turns of a conversation have changed.';
comment on column ops.rollup_markers.bucket_at is 'Start of the quarter of an hour, UTC. Quarters divide every local day and hour.';
comment on column ops.rollup_markers.conversation_id is 'The conversation.';
comment on column ops.rollup_markers.marked_at is 'When the facts changed.';

create table ops.rollup_troubles (
  trouble_id bigint generated always as identity primary key,
  kind text not null check (kind in ('calls', 'texts', 'thread')),
  bucket_at timestamptz,
  conversation_id bigint,
  error text not null,
  try_count integer not null default 1,
  first_failed_at timestamptz not null default now(),
  last_failed_at timestamptz not null default now(),
  retry_at timestamptz not null default now() + interval '1 minute',
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);
create unique index rollup_troubles_subject on ops.rollup_troubles (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0));
comment on table ops.rollup_troubles is 'Days and conversations that could not be rolled up. They are set aside so that the others are not delayed, and deleted once they are computed completely.';
comment on column ops.rollup_troubles.trouble_id is 'Key, so that logical replication can tell the rows apart.';
comment on column ops.rollup_troubles.kind is 'As in ops.rollup_markers.';
comment on column ops.rollup_troubles.bucket_at is 'Begin of the local day.';
comment on column ops.rollup_troubles.conversation_id is 'The conversation.';
comment on column ops.rollup_troubles.error is 'The last error of Postgres.';
comment on column ops.rollup_troubles.try_count is 'Number of attempts.';
comment on column ops.rollup_troubles.first_failed_at is 'When it failed first.';
comment on column ops.rollup_troubles.last_failed_at is 'When it failed last.';
comment on column ops.rollup_troubles.retry_at is 'When it is tried again: after a minute, and up to a quarter of an hour.';

create table ops.rollup_state (
  is_only boolean default true primary key check (is_only),
  drained_at timestamptz,
  meaning text,
  rebuilt_at timestamptz,
  wanted_time_zone text,
  last_error text,
  error_code text,
  failing_since_at timestamptz
);
comment on table ops.rollup_state is 'State of the rollups of the schema reporting; one row.';
comment on column ops.rollup_state.is_only is 'There is one row.';
comment on column ops.rollup_state.drained_at is 'When there was last no marker left.';
comment on column ops.rollup_state.meaning is 'The value of ops.rollup_meaning() when all rollups were last rebuilt; NULL = they never were, or a rebuild is running or was interrupted.';
comment on column ops.rollup_state.rebuilt_at is 'When that was.';
comment on column ops.rollup_state.wanted_time_zone is 'TIME_ZONE of the worker started last; NULL = not set. If reporting.params has another zone, the reports wait for a rebuild.';
comment on column ops.rollup_state.last_error is 'Why the last drain failed; NULL = it did not. Changes that were set aside do not count as a failure.';
comment on column ops.rollup_state.error_code is 'SQLSTATE of last_error; NULL if it was not an error of Postgres.';
comment on column ops.rollup_state.failing_since_at is 'When drains began to fail.';

create function ops.rollup_meaning() returns text
language sql stable as $$
  select md5(concat_ws('|', p.time_zone, p.short_abandon_seconds, p.callback_window, p.session_gap, p.schedule_id,
    (select string_agg(s::text, ',' order by s.schedule_id) from reporting.schedules s),
    (select string_agg(h::text, ',' order by h.schedule_id, h.isodow, h.opens) from reporting.business_hours h),
    (select string_agg(h::text, ',' order by h.schedule_id, h.on_date, h.opens) from reporting.special_hours h),
    (select string_agg(l::text, ',' order by l.line) from reporting.schedule_lines l),
    (select string_agg(h.schedule_id || ' ' || h.holiday_date, ',' order by h.schedule_id, h.holiday_date) from reporting.holidays h),
    (select string_agg(m::text, ',' order by m.word) from reporting.delivery_status_map m)))
  from reporting.params p
$$;
comment on function ops.rollup_meaning is 'A hash of all definitions that the rollups depend on. When it changes, they must be rebuilt.';
insert into ops.rollup_state (meaning) values (ops.rollup_meaning());

-- Rollups of calls

create table rollups.call_rollup (
  local_date date not null,
  account_number text not null,
  local_hour integer not null,
  direction text not null,
  is_business_hours boolean not null,
  call_count integer not null,
  answered_count integer not null,
  voicemail_count integer not null,
  abandoned_count integer not null,
  short_abandoned_count integer not null,
  missed_count integer not null,
  unknown_count integer not null,
  menu_count integer not null,
  talk_seconds bigint not null,
  talk_count integer not null,
  answer_wait_seconds bigint not null,
  answer_wait_count integer not null,
  longest_wait_seconds integer,
  ans_le_5 integer not null,
  ans_le_10 integer not null,
  ans_le_15 integer not null,
  ans_le_20 integer not null,
  ans_le_30 integer not null,
  ans_le_45 integer not null,
  ans_le_60 integer not null,
  ans_le_120 integer not null,
  transferred_count integer not null,
  primary key (local_date, account_number, local_hour, direction, is_business_hours)
);
comment on table rollups.call_rollup is 'Calls by local hour and number; read it through call_hourly.';
comment on column rollups.call_rollup.local_date is 'Local day.';
comment on column rollups.call_rollup.account_number is 'The account''s number, empty where the call reports none.';
comment on column rollups.call_rollup.local_hour is 'Local hour. The hour repeated by the clock in autumn includes both.';
comment on column rollups.call_rollup.direction is 'internal; of external calls inbound, outbound, or unknown where none is reported.';
comment on column rollups.call_rollup.is_business_hours is 'Whether the schedule of the line was open when the calls began.';
comment on column rollups.call_rollup.call_count is 'Calls.';
comment on column rollups.call_rollup.answered_count is 'Somebody answered.';
comment on column rollups.call_rollup.voicemail_count is 'Ended in a mailbox.';
comment on column rollups.call_rollup.abandoned_count is 'The caller gave up after more than the short-abandon threshold.';
comment on column rollups.call_rollup.short_abandoned_count is 'The caller gave up within the short-abandon threshold.';
comment on column rollups.call_rollup.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up.';
comment on column rollups.call_rollup.unknown_count is 'The service reports no outcome.';
comment on column rollups.call_rollup.menu_count is 'Of the inbound abandoned and missed calls, those whose caller never left the menu, according to the legs.';
comment on column rollups.call_rollup.talk_seconds is 'Connected time of the answered calls that report it.';
comment on column rollups.call_rollup.talk_count is 'Answered calls that report their connected time.';
comment on column rollups.call_rollup.answer_wait_seconds is 'Total wait of the answered inbound calls.';
comment on column rollups.call_rollup.answer_wait_count is 'Answered inbound calls whose wait is known.';
comment on column rollups.call_rollup.longest_wait_seconds is 'Longest wait, answered or not.';
comment on column rollups.call_rollup.ans_le_5 is 'Answered within 5 seconds.';
comment on column rollups.call_rollup.ans_le_10 is 'Answered within 10 seconds.';
comment on column rollups.call_rollup.ans_le_15 is 'Answered within 15 seconds.';
comment on column rollups.call_rollup.ans_le_20 is 'Answered within 20 seconds.';
comment on column rollups.call_rollup.ans_le_30 is 'Answered within 30 seconds.';
comment on column rollups.call_rollup.ans_le_45 is 'Answered within 45 seconds.';
comment on column rollups.call_rollup.ans_le_60 is 'Answered within 60 seconds.';
comment on column rollups.call_rollup.ans_le_120 is 'Answered within 120 seconds.';
comment on column rollups.call_rollup.transferred_count is 'Transferred at least once.';

create table rollups.endpoints (
  kind text not null check (kind in ('number', 'queue', 'huntgroup')),
  endpoint text not null,
  endpoint_name text,
  last_date date not null,
  primary key (kind, endpoint)
);
comment on table rollups.endpoints is 'Numbers of the account, queues and huntgroups that calls involved; read it through dim_number and dim_queue. Rows are never deleted.';
comment on column rollups.endpoints.kind is 'number, queue or huntgroup.';
comment on column rollups.endpoints.endpoint is 'The number; of a queue or huntgroup without one, its name.';
comment on column rollups.endpoints.endpoint_name is 'Name of a queue or huntgroup, as the newest call shows it.';
comment on column rollups.endpoints.last_date is 'Local day of the newest call.';

create table rollups.contacts (
  number text primary key
);
comment on table rollups.contacts is 'Numbers of other parties of calls and texts; read it through dim_contact. An erasure deletes the row.';
comment on column rollups.contacts.number is 'The number, normalised.';

create table rollups.call_agent_rollup (
  local_date date not null,
  local_hour integer not null,
  user_id bigint not null,
  direction text not null,
  handled_count integer not null,
  answered_count integer not null,
  placed_count integer not null,
  connected_count integer not null,
  placed_connected_count integer not null,
  unconnected_count integer not null,
  rang_count integer not null,
  transferred_to_count integer not null,
  transferred_out_count integer not null,
  talk_seconds bigint not null,
  talk_count integer not null,
  primary key (local_date, user_id, direction, local_hour)
);
comment on table rollups.call_agent_rollup is 'Calls by local hour and user; read it through agent_hourly.';
comment on column rollups.call_agent_rollup.local_date is 'Local day.';
comment on column rollups.call_agent_rollup.local_hour is 'Local hour.';
comment on column rollups.call_agent_rollup.user_id is 'The user.';
comment on column rollups.call_agent_rollup.direction is 'internal; of external calls inbound, outbound, or unknown where none is reported.';
comment on column rollups.call_agent_rollup.handled_count is 'Calls that the user answered or placed.';
comment on column rollups.call_agent_rollup.answered_count is 'Of these, answered by the user.';
comment on column rollups.call_agent_rollup.placed_count is 'Of these, placed by the user.';
comment on column rollups.call_agent_rollup.connected_count is 'Of the handled, those that the user answered, or placed and somebody answered.';
comment on column rollups.call_agent_rollup.placed_connected_count is 'Of the placed, those that somebody answered.';
comment on column rollups.call_agent_rollup.unconnected_count is 'Of the placed, those that nobody or a mailbox answered.';
comment on column rollups.call_agent_rollup.rang_count is 'Calls that rang at the user''s and that the user did not answer.';
comment on column rollups.call_agent_rollup.transferred_to_count is 'Calls that were transferred to the user.';
comment on column rollups.call_agent_rollup.transferred_out_count is 'Calls that the user transferred to somebody else.';
comment on column rollups.call_agent_rollup.talk_seconds is 'The user''s connected time on the connected calls, where legs or the call report it.';
comment on column rollups.call_agent_rollup.talk_count is 'Of the connected calls, those whose connected time is reported.';

create table rollups.queue_visits (
  call_id text not null,
  visit_number integer not null,
  started_at timestamptz not null,
  local_date date not null,
  local_hour integer not null,
  is_business_hours boolean not null,
  direction text not null,
  account_number text,
  kind text not null check (kind in ('queue', 'huntgroup')),
  endpoint text not null,
  entered_at timestamptz,
  outcome text not null check (outcome in
    ('answered', 'abandoned', 'short_abandoned', 'overflowed', 'voicemail', 'left', 'missed', 'unknown')),
  wait_seconds integer,
  wait_basis text not null check (wait_basis in ('legs', 'duration_minus_talk', 'unknown')),
  next_queue text,
  primary key (call_id, visit_number)
);
create index queue_visits_started_at on rollups.queue_visits (started_at);
create index queue_visits_local_date on rollups.queue_visits (local_date);
comment on table rollups.queue_visits is 'Visits of external calls to queues and huntgroups; read it through fct_queue_visit and queue_daily.';
comment on column rollups.queue_visits.call_id is 'The call.';
comment on column rollups.queue_visits.visit_number is 'Which visit of the call, from 1.';
comment on column rollups.queue_visits.started_at is 'Start of the call.';
comment on column rollups.queue_visits.local_date is 'Its local day.';
comment on column rollups.queue_visits.local_hour is 'Its local hour.';
comment on column rollups.queue_visits.is_business_hours is 'Whether the schedule of the line was open then.';
comment on column rollups.queue_visits.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column rollups.queue_visits.account_number is 'The account''s number on the call.';
comment on column rollups.queue_visits.kind is 'queue or huntgroup.';
comment on column rollups.queue_visits.endpoint is 'Its number; its name where it has none.';
comment on column rollups.queue_visits.entered_at is 'When the call entered it; NULL = not known.';
comment on column rollups.queue_visits.outcome is 'How the visit ended; see fct_queue_visit.';
comment on column rollups.queue_visits.wait_seconds is 'How long the caller waited there; see fct_queue_visit.';
comment on column rollups.queue_visits.wait_basis is 'legs, duration_minus_talk or unknown.';
comment on column rollups.queue_visits.next_queue is 'Where an overflowed visit continued, as in dim_queue.';

create table rollups.missed_call_returns (
  call_id text primary key,
  started_at timestamptz not null,
  local_date date not null,
  outcome text not null,
  reached text not null,
  is_business_hours boolean not null,
  account_number text,
  wait_seconds integer,
  called_back_call_id text,
  returned_by text check (returned_by in ('called_back', 'outbound_call', 'caller_got_through', 'text', 'automatic_text', 'text_by_unknown')),
  returned_at timestamptz,
  returned_call_id text,
  texted_at timestamptz,
  rule_texted_at timestamptz,
  reached_at timestamptz,
  returned_within text check (returned_within in ('1 hour', '4 hours', '1 business day', 'later')),
  return_business_seconds bigint,
  return_seconds integer
);
create index missed_call_returns_local_date on rollups.missed_call_returns (local_date);
create index missed_call_returns_returned_at on rollups.missed_call_returns (returned_at);
create index missed_call_returns_reached_at on rollups.missed_call_returns (reached_at) where reached_at is not null;
create index missed_call_returns_texted_at on rollups.missed_call_returns (texted_at) where texted_at is not null;
create index missed_call_returns_rule_texted_at on rollups.missed_call_returns (rule_texted_at) where rule_texted_at is not null;
create index missed_call_returns_called_back on rollups.missed_call_returns (called_back_call_id) where called_back_call_id is not null;
create index missed_call_returns_times on rollups.missed_call_returns (started_at) include (outcome, returned_by, return_seconds, account_number);
comment on table rollups.missed_call_returns is 'Inbound external calls that nobody answered, and how they were returned; read it through missed_calls. Contains no customer numbers.';
comment on column rollups.missed_call_returns.call_id is 'The missed call.';
comment on column rollups.missed_call_returns.started_at is 'Its start.';
comment on column rollups.missed_call_returns.local_date is 'Its local day.';
comment on column rollups.missed_call_returns.outcome is 'voicemail, short_abandoned, abandoned or missed.';
comment on column rollups.missed_call_returns.reached is 'How far the caller came, as in fct_call.';
comment on column rollups.missed_call_returns.is_business_hours is 'Whether the schedule of the line was open when the call began.';
comment on column rollups.missed_call_returns.account_number is 'The account''s number that was called.';
comment on column rollups.missed_call_returns.wait_seconds is 'How long the caller waited.';
comment on column rollups.missed_call_returns.called_back_call_id is 'The call that returned it, by the service.';
comment on column rollups.missed_call_returns.returned_by is 'How it was returned: called_back, outbound_call, caller_got_through or text. Not returned: automatic_text or text_by_unknown, if only a rule or an unknown sender texted the number within the window; NULL = nothing happened.';
comment on column rollups.missed_call_returns.returned_at is 'When; NULL when not returned, or when the service names a call that is not held.';
comment on column rollups.missed_call_returns.returned_call_id is 'By which call; NULL for a text.';
comment on column rollups.missed_call_returns.texted_at is 'When the first text of a rule or of an unknown sender went out within the window, returned or not; NULL = none did.';
comment on column rollups.missed_call_returns.rule_texted_at is 'When the first text of a rule did.';
comment on column rollups.missed_call_returns.reached_at is 'First call afterwards on which somebody spoke with the caller; NULL = none within the window.';
comment on column rollups.missed_call_returns.returned_within is '1 hour, 4 hours, 1 business day (by the end of the next one) or later; NULL when not returned at a known time.';
comment on column rollups.missed_call_returns.return_business_seconds is 'Business time from the start of the call to its return; NULL when not returned at a known time, or an absurd one, or when the schedule was closed all the way from one to the other.';
comment on column rollups.missed_call_returns.return_seconds is 'From the start of the call to its return; NULL when not returned at a known time, or an absurd one.';

-- Rollups of texts

create table rollups.sms_turns (
  conversation_id bigint not null,
  turn_number integer not null,
  line text not null,
  turn_started_at timestamptz not null,
  inbound_count integer not null,
  is_session_start boolean not null,
  is_last boolean not null,
  first_reply_at timestamptz,
  first_reply_kind text check (first_reply_kind in ('user', 'automatic', 'unknown')),
  first_user_reply_at timestamptz,
  first_user_reply_by bigint,
  reply_seconds integer,
  user_reply_seconds integer,
  is_business_hours boolean not null,
  user_reply_business_seconds integer,
  primary key (conversation_id, turn_number)
);
create index sms_turns_unanswered on rollups.sms_turns (turn_started_at) where first_reply_at is null and is_last;
create index sms_turns_times on rollups.sms_turns (turn_started_at) include (line, is_session_start, reply_seconds, user_reply_seconds, user_reply_business_seconds);
comment on table rollups.sms_turns is 'Every time that a customer texted and it was our turn: from the first text to the reply. Percentiles of response times come from here, since they do not add up.';
comment on column rollups.sms_turns.conversation_id is 'The conversation.';
comment on column rollups.sms_turns.turn_number is 'Which turn of the conversation, from 1. Texts of ours before the customer''s first belong to none.';
comment on column rollups.sms_turns.line is 'The account''s line.';
comment on column rollups.sms_turns.turn_started_at is 'The customer''s first text of the turn: one that follows a text of ours, or a pause longer than the session gap.';
comment on column rollups.sms_turns.inbound_count is 'Texts of the customer in the turn.';
comment on column rollups.sms_turns.is_session_start is 'Whether the turn began the conversation, or followed a pause longer than the session gap.';
comment on column rollups.sms_turns.is_last is 'Whether no later turn is held.';
comment on column rollups.sms_turns.first_reply_at is 'First text of ours in the turn. Scheduled texts count when they are sent, blocked ones never.';
comment on column rollups.sms_turns.first_reply_kind is 'user; automatic: a rule sent it, through the ledger; unknown: the service names no user and the ledger did not send it.';
comment on column rollups.sms_turns.first_user_reply_at is 'First text of a person after the turn began and within its session, so that an automatic reply does not end the wait for one.';
comment on column rollups.sms_turns.first_user_reply_by is 'Who wrote it.';
comment on column rollups.sms_turns.reply_seconds is 'From the turn''s first text to the first reply, by the calendar.';
comment on column rollups.sms_turns.user_reply_seconds is 'From the turn''s first text to the first reply of a person, by the calendar.';
comment on column rollups.sms_turns.is_business_hours is 'Whether the schedule of the line was open at turn_started_at: at or after an opening time, before its closing time, on no holiday.';
comment on column rollups.sms_turns.user_reply_business_seconds is 'The same, counting business time only; NULL where the schedule was closed all the way from the text to the reply.';

create table rollups.sms_day_rollup (
  local_date date not null,
  line text not null,
  inbound_count integer not null,
  outbound_count integer not null,
  outbound_user_count integer not null,
  outbound_automatic_count integer not null,
  outbound_unknown_count integer not null,
  outbound_user_estimated_segment_count integer not null,
  number_count integer not null,
  conversation_count integer not null,
  media_message_count integer not null,
  delivered_count integer not null,
  failed_count integer not null,
  undetermined_count integer not null,
  no_receipt_count integer not null,
  blocked_count integer not null,
  failures jsonb not null,
  primary key (local_date, line)
);
comment on table rollups.sms_day_rollup is 'Texts by local day and line; read it through sms_daily.';
comment on column rollups.sms_day_rollup.local_date is 'Local day.';
comment on column rollups.sms_day_rollup.line is 'The account''s line.';
comment on column rollups.sms_day_rollup.inbound_count is 'Texts of customers.';
comment on column rollups.sms_day_rollup.outbound_count is 'Texts of ours, blocked ones included: they were charged.';
comment on column rollups.sms_day_rollup.outbound_user_count is 'Of these, sent by a person.';
comment on column rollups.sms_day_rollup.outbound_automatic_count is 'Of these, sent by a rule, through the ledger.';
comment on column rollups.sms_day_rollup.outbound_unknown_count is 'Of these, without a known sender: not sent by the ledger, and the service names no user.';
comment on column rollups.sms_day_rollup.outbound_user_estimated_segment_count is 'Estimated segments of the texts without files that a person sent.';
comment on column rollups.sms_day_rollup.number_count is 'Different numbers. They do not add up over days or lines.';
comment on column rollups.sms_day_rollup.conversation_count is 'Different conversations. They do not add up over days.';
comment on column rollups.sms_day_rollup.media_message_count is 'Texts with attached files.';
comment on column rollups.sms_day_rollup.delivered_count is 'Outbound: delivered by the carrier''s word.';
comment on column rollups.sms_day_rollup.failed_count is 'Outbound: failed by the carrier''s word.';
comment on column rollups.sms_day_rollup.undetermined_count is 'Outbound: on its way, or a word that is not mapped.';
comment on column rollups.sms_day_rollup.no_receipt_count is 'Outbound: the carrier has reported nothing, which is no failure.';
comment on column rollups.sms_day_rollup.blocked_count is 'Outbound: not delivered because the number is blocked on the line; charged all the same.';
comment on column rollups.sms_day_rollup.failures is 'The failed, blocked and unmapped ones by the carrier''s own words: objects of class, status, error and texts.';

create table rollups.sms_cost_rollup (
  local_date date not null,
  line text not null,
  sent_count integer not null,
  segment_count integer not null,
  charged_micros bigint not null,
  unpriced_count integer not null,
  unpriced_set_aside_micros bigint not null,
  open_count integer not null,
  open_set_aside_micros bigint not null,
  primary key (local_date, line)
);
comment on table rollups.sms_cost_rollup is 'What texts of rules cost, by local day and line; read it through sms_daily.';
comment on column rollups.sms_cost_rollup.local_date is 'Local day on which they went out, or were to.';
comment on column rollups.sms_cost_rollup.line is 'The account''s line.';
comment on column rollups.sms_cost_rollup.sent_count is 'Texts sent.';
comment on column rollups.sms_cost_rollup.segment_count is 'Their segments.';
comment on column rollups.sms_cost_rollup.charged_micros is 'Micro-dollars that the service charged.';
comment on column rollups.sms_cost_rollup.unpriced_count is 'Texts sent whose price it did not report.';
comment on column rollups.sms_cost_rollup.unpriced_set_aside_micros is 'Micro-dollars set aside for these, the worst case.';
comment on column rollups.sms_cost_rollup.open_count is 'Texts under way, or of which it is not known whether they were sent.';
comment on column rollups.sms_cost_rollup.open_set_aside_micros is 'Micro-dollars set aside for these, the worst case.';

-- Rollups of transcripts

create table rollups.transcript_agents (
  transcript_id bigint primary key,
  call_id text not null,
  call_started_at timestamptz not null,
  local_date date not null,
  agent_user_id bigint,
  call_purpose text,
  call_sentiment text,
  csat_score integer,
  agent_performance_score integer,
  is_action_required boolean,
  is_urgent_action_required boolean
);
create index transcript_agents_call_started_at on rollups.transcript_agents (call_started_at) include (transcript_id);
comment on table rollups.transcript_agents is 'Start of the call, user, scores and words of each transcript, so that sums need not read the transcripts; read it through fct_transcript. Only transcripts of mirrored calls.';
comment on column rollups.transcript_agents.transcript_id is 'The transcript.';
comment on column rollups.transcript_agents.call_id is 'Its call.';
comment on column rollups.transcript_agents.call_started_at is 'Start of the call.';
comment on column rollups.transcript_agents.local_date is 'Its local day.';
comment on column rollups.transcript_agents.agent_user_id is 'Who had the extension of the recorded leg then; NULL = not known.';
comment on column rollups.transcript_agents.call_purpose is 'As in warehouse.transcripts, like the following.';
comment on column rollups.transcript_agents.call_sentiment is 'The account''s own word.';
comment on column rollups.transcript_agents.csat_score is 'Satisfaction of the customer.';
comment on column rollups.transcript_agents.agent_performance_score is 'Performance of the agent.';
comment on column rollups.transcript_agents.is_action_required is 'Somebody should act.';
comment on column rollups.transcript_agents.is_urgent_action_required is 'Somebody should act at once.';

create table rollups.action_items (
  call_id text primary key,
  call_started_at timestamptz not null,
  local_date date not null,
  transcript_ids bigint[] not null,
  is_urgent boolean not null
);
create index action_items_call_started_at on rollups.action_items (call_started_at);
create index action_items_local_date on rollups.action_items (local_date);
comment on table rollups.action_items is 'Calls whose analysis says that somebody should act; read it through fct_action.';
comment on column rollups.action_items.call_id is 'The call.';
comment on column rollups.action_items.call_started_at is 'Start of the call.';
comment on column rollups.action_items.local_date is 'Local day of the call.';
comment on column rollups.action_items.transcript_ids is 'Its transcripts that say so, the urgent ones first.';
comment on column rollups.action_items.is_urgent is 'Whether one of them says: at once.';

-- Outcomes of rules and sends

create table ops.rule_tallies (
  tally_id bigint generated always as identity primary key,
  happened_at timestamptz not null,
  version text not null,
  counts jsonb not null,
  marked_at timestamptz not null default clock_timestamp()
);
comment on table ops.rule_tallies is 'Evaluations and steps of rules that are not in the daily totals yet. One row per batch of evaluations and per settled step; deleted when it is added.';
comment on column ops.rule_tallies.tally_id is 'Order of writing.';
comment on column ops.rule_tallies.happened_at is 'When the rules were evaluated.';
comment on column ops.rule_tallies.version is 'Version of the rules then.';
comment on column ops.rule_tallies.counts is 'Objects of rule, mode, word and count. Words: of an evaluation its reason without what follows a colon; action_ and the final state of a step other than a reply; reply_unplanned.';
comment on column ops.rule_tallies.marked_at is 'When it was written.';

create table ops.send_markers (
  marker_id bigint generated always as identity primary key,
  planned_at timestamptz,
  charged_at timestamptz,
  marked_at timestamptz not null default clock_timestamp()
);
comment on table ops.send_markers is 'Days of the send ledger whose totals are out of date. Written together with the ledger''s rows, deleted when the totals are computed again.';
comment on column ops.send_markers.marker_id is 'Order of marking.';
comment on column ops.send_markers.planned_at is 'An instant of a day on which sends were planned.';
comment on column ops.send_markers.charged_at is 'An instant of a day on which sends went out, or were to.';
comment on column ops.send_markers.marked_at is 'When the ledger changed.';

create table ops.outcome_state (
  is_only boolean default true primary key check (is_only),
  time_zone text,
  drained_at timestamptz,
  last_error text,
  error_code text,
  failing_since_at timestamptz
);
comment on table ops.outcome_state is 'State of the totals of rules and sends; one row.';
comment on column ops.outcome_state.is_only is 'There is one row.';
comment on column ops.outcome_state.time_zone is 'Time zone by whose days sends are counted. If reporting.params has another one, they are counted again.';
comment on column ops.outcome_state.drained_at is 'When nothing was left to add.';
comment on column ops.outcome_state.last_error is 'Why the last drain failed; NULL = it did not.';
comment on column ops.outcome_state.error_code is 'SQLSTATE of last_error; NULL where it was no error of Postgres.';
comment on column ops.outcome_state.failing_since_at is 'When the first drain of the present series of failures failed.';
insert into ops.outcome_state default values;

create table rollups.rule_outcome_rollup (
  local_date date not null,
  rule text not null,
  version text not null,
  mode text not null,
  evaluation_count integer not null default 0,
  matched_count integer not null default 0,
  condition_false_count integer not null default 0,
  too_old_count integer not null default 0,
  limited_count integer not null default 0,
  stopped_count integer not null default 0,
  unfit_count integer not null default 0,
  error_count integer not null default 0,
  action_done_count integer not null default 0,
  action_would_count integer not null default 0,
  action_skipped_count integer not null default 0,
  action_failed_count integer not null default 0,
  action_unclear_count integer not null default 0,
  reply_unplanned_count integer not null default 0,
  planned_count integer not null default 0,
  sent_count integer not null default 0,
  would_send_count integer not null default 0,
  blocked_count integer not null default 0,
  blocked_by_gate jsonb not null default '{}',
  skipped_count integer not null default 0,
  rejected_count integer not null default 0,
  not_sent_count integer not null default 0,
  waiting_count integer not null default 0,
  unclear_count integer not null default 0,
  segment_count integer not null default 0,
  would_segment_count integer not null default 0,
  charged_micros bigint not null default 0,
  unpriced_count integer not null default 0,
  set_aside_micros bigint not null default 0,
  replied_count integer not null default 0,
  opted_out_count integer not null default 0,
  primary key (local_date, rule, version, mode)
);
comment on table rollups.rule_outcome_rollup is 'What each rule did, by local day; read it through rule_outcomes.';
comment on column rollups.rule_outcome_rollup.local_date is 'Local day on which the rule was tried, or its text was planned.';
comment on column rollups.rule_outcome_rollup.rule is 'Name of the rule.';
comment on column rollups.rule_outcome_rollup.version is 'Version of the rules then.';
comment on column rollups.rule_outcome_rollup.mode is 'dry-run or live.';
comment on column rollups.rule_outcome_rollup.evaluation_count is 'Number of attempts.';
comment on column rollups.rule_outcome_rollup.matched_count is 'How often it was to act.';
comment on column rollups.rule_outcome_rollup.condition_false_count is 'Not to act: its condition did not hold.';
comment on column rollups.rule_outcome_rollup.too_old_count is 'Not to act: what it waits for had happened too long ago.';
comment on column rollups.rule_outcome_rollup.limited_count is 'Not to act: its own limit was reached.';
comment on column rollups.rule_outcome_rollup.stopped_count is 'Not to act: an earlier rule had said stop.';
comment on column rollups.rule_outcome_rollup.unfit_count is 'Not to act: a reaction, a group, nobody to answer, no need of a call-back, or gone.';
comment on column rollups.rule_outcome_rollup.error_count is 'Not to act: its condition or template failed.';
comment on column rollups.rule_outcome_rollup.action_done_count is 'Steps other than replies that were done.';
comment on column rollups.rule_outcome_rollup.action_would_count is 'Steps other than replies that dry-run recorded and did not execute.';
comment on column rollups.rule_outcome_rollup.action_skipped_count is 'Steps other than replies that there was a reason not to do.';
comment on column rollups.rule_outcome_rollup.action_failed_count is 'Steps other than replies that the service refused.';
comment on column rollups.rule_outcome_rollup.action_unclear_count is 'Steps other than replies whose answer was lost.';
comment on column rollups.rule_outcome_rollup.reply_unplanned_count is 'Replies that were not even planned.';
comment on column rollups.rule_outcome_rollup.planned_count is 'Texts planned.';
comment on column rollups.rule_outcome_rollup.sent_count is 'Of these, sent.';
comment on column rollups.rule_outcome_rollup.would_send_count is 'Of these, not sent only because of dry-run.';
comment on column rollups.rule_outcome_rollup.blocked_count is 'Of these, stopped by a gate.';
comment on column rollups.rule_outcome_rollup.blocked_by_gate is 'These by gate.';
comment on column rollups.rule_outcome_rollup.skipped_count is 'Of these, skipped by the service and not charged.';
comment on column rollups.rule_outcome_rollup.rejected_count is 'Of these, refused by the service and not charged.';
comment on column rollups.rule_outcome_rollup.not_sent_count is 'Of these, given up, provably not sent.';
comment on column rollups.rule_outcome_rollup.waiting_count is 'Of these, not out yet.';
comment on column rollups.rule_outcome_rollup.unclear_count is 'Of these, it is not known whether they were sent.';
comment on column rollups.rule_outcome_rollup.segment_count is 'Segments of the sent texts, worst case where none were reported.';
comment on column rollups.rule_outcome_rollup.would_segment_count is 'Segments of the texts that dry-run kept back, worst case.';
comment on column rollups.rule_outcome_rollup.charged_micros is 'Micro-dollars charged.';
comment on column rollups.rule_outcome_rollup.unpriced_count is 'Sent texts whose price was not reported.';
comment on column rollups.rule_outcome_rollup.set_aside_micros is 'Micro-dollars set aside for texts whose price or outcome is not known.';
comment on column rollups.rule_outcome_rollup.replied_count is 'Sent texts that a text of the recipient followed within 24 hours.';
comment on column rollups.rule_outcome_rollup.opted_out_count is 'Sent texts that a word such as STOP followed within 24 hours.';

create table rollups.audits (
  check_name text primary key,
  found_count bigint not null,
  counted_at timestamptz not null default now()
);
comment on table rollups.audits is 'Counts that take too long for a dashboard, taken hourly; read them through data_quality.';
comment on column rollups.audits.check_name is 'What was counted.';
comment on column rollups.audits.found_count is 'How many were found.';
comment on column rollups.audits.counted_at is 'When.';
