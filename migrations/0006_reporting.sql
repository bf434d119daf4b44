-- Definitions that the owner may change

-- Opening hours of the business, by name. Workers write them from the rules in force. The name '' is business_hours: all lines that no
-- office names use it. Each office has a row of its own.
create table reporting.schedules (
  schedule text primary key, -- Name of the office, or empty.
  time_zone text not null -- IANA time zone of its hours.
);
insert into reporting.schedules values ('', 'UTC');

-- The schedule of each line of an office.
create table reporting.schedule_lines (
  line text primary key, -- A number of the account.
  schedule text not null -- Its schedule.
);

-- When each schedule is open, from the year 2000 to the end of the year after next: weekdays, holidays, half days and changes of the clock
-- are worked in. A day can have several spans, without overlaps; none is longer than a day.
create table reporting.open_hours (
  schedule text not null, -- The schedule.
  opens_at timestamptz not null, -- First moment.
  closes_at timestamptz not null check (closes_at > opens_at), -- End, exclusive.
  primary key (schedule, opens_at)
);
-- Until a worker writes others: Monday to Friday, 09:00-17:00.
insert into reporting.open_hours
select '', day + interval '9 hours', day + interval '17 hours'
from generate_series(timestamptz '2000-01-01 00:00Z', '2030-01-01 00:00Z', '24 hours') day
where extract(isodow from day at time zone 'UTC') <= 5;
analyze reporting.open_hours;

-- Definitions used by the reports; one row. After changing short_abandon_seconds, callback_window or
-- session_gap, run `npx trunkline reporting rebuild`.
create table reporting.params (
  is_only boolean default true primary key check (is_only), -- There is one row.
  time_zone text not null default 'UTC', -- IANA time zone of local days and hours in the reports. Workers set it to TIME_ZONE.
  -- A call answered within this many seconds is within the service level: 5, 10, 15, 20, 30, 45, 60 or 120. Takes effect at once.
  service_level_seconds integer not null default 20 check (service_level_seconds in (5, 10, 15, 20, 30, 45, 60, 120)),
  -- An abandoned call that waited no longer than this is short_abandoned: nobody could have answered it.
  short_abandon_seconds integer not null default 5 check (short_abandon_seconds >= 0),
  -- A missed call counts as returned if a person gets in touch within this time. A text without a known sender does not count.
  callback_window interval not null default '7 days' check (callback_window > '00:00:00'),
  -- A text of the customer after a longer pause begins a new session.
  session_gap interval not null default '24:00:00' check (session_gap > '00:00:00'),
  -- Whether views show what people wrote and said and what the analysis wrote about it, and whether reporting.search finds it. Workers set it
  -- by BI_WORDS. Names and numbers are always shown.
  is_text_shown boolean not null default false,
  -- A missed call needs a call-back if its caller came this far. Workers copy it from missed in the rules file. Takes effect at once.
  missed_reached text[] not null default '{queue,rang,mailbox}',
  missed_seconds integer not null default 5 -- How long such a call lasted at least; also from the rules file. Takes effect at once.
);
insert into reporting.params default values;
-- Autovacuum never analyses so small a table, and the planner would expect hundreds of rows in the views that join it.
analyze reporting.params;

-- The meaning of the carriers' own delivery words, which the service does not document. Add the words that data_quality lists as not
-- mapped, then run `npx trunkline reporting rebuild`.
create table reporting.delivery_status_map (
  word text primary key check (word = lower(trim(word))), -- The carrier's word in lower case.
  -- delivered and failed are final; in_flight: on its way, or never reported again; unknown: the carrier does not know.
  delivery_class text not null check (delivery_class in ('delivered', 'in_flight', 'failed', 'unknown'))
);
insert into reporting.delivery_status_map values
  ('delivered', 'delivered'), ('delivrd', 'delivered'), ('success', 'delivered'), ('read', 'delivered'),
  ('sent', 'in_flight'), ('accepted', 'in_flight'), ('acceptd', 'in_flight'), ('queued', 'in_flight'), ('sending', 'in_flight'),
  ('enroute', 'in_flight'), ('buffered', 'in_flight'), ('scheduled', 'in_flight'),
  ('failed', 'failed'), ('undelivered', 'failed'), ('undeliv', 'failed'), ('undeliverable', 'failed'), ('rejected', 'failed'),
  ('rejectd', 'failed'), ('expired', 'failed'), ('deleted', 'failed'), ('canceled', 'failed'),
  ('unknown', 'unknown');

-- Upkeep of the rollups

-- Days whose rollups are out of date. Written together with the fact, deleted when the day has been computed again.
create table ops.rollup_markers (
  marker_id bigint generated always as identity primary key,
  kind text not null check (kind in ('calls', 'texts', 'thread')), -- thread: the turns of a conversation have changed.
  bucket_at timestamptz, -- Start of a quarter of an hour, UTC. Quarters divide every local day and hour.
  conversation_id bigint,
  marked_at timestamptz not null default clock_timestamp(),
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);

-- Days and conversations that could not be rolled up. They are set aside so that the others are not delayed, and deleted once they are
-- computed completely.
create table ops.rollup_troubles (
  trouble_id bigint generated always as identity primary key,
  kind text not null check (kind in ('calls', 'texts', 'thread')),
  bucket_at timestamptz, -- Start of the local day.
  conversation_id bigint,
  error text not null,
  try_count integer not null default 1,
  first_failed_at timestamptz not null default now(),
  retry_at timestamptz not null default now() + interval '1 minute', -- After a minute, and up to a quarter of an hour.
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);
create unique index rollup_troubles_subject on ops.rollup_troubles (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0));

-- State of the rollups of the schema reporting; one row.
create table ops.rollup_state (
  is_only boolean default true primary key check (is_only),
  drained_at timestamptz, -- When there was last no marker left.
  meaning text, -- ops.rollup_meaning() of the last whole rebuild; NULL = none, or one is running or was interrupted.
  rebuilt_at timestamptz,
  time_zone text, -- TIME_ZONE of the worker started last. NULL = it is not set, so that the reports are in UTC.
  hours_hash text, -- Of the calendars that reporting.open_hours has, and of the years up to which it has them.
  last_error text, -- Of a drain. Changes that were set aside are no failure.
  failing_since_at timestamptz
);

-- A hash of all definitions that the rollups depend on. When it changes, they must be rebuilt.
create function ops.rollup_meaning() returns text
language sql stable as $$
  select md5(concat_ws('|', p.short_abandon_seconds, p.callback_window, p.session_gap,
    (select string_agg(m::text, ',' order by m.word) from reporting.delivery_status_map m)))
  from reporting.params p
$$;
insert into ops.rollup_state (meaning) values (ops.rollup_meaning());

-- Rollups of calls

-- Calls by local hour and number; read it through call_hourly.
create table rollups.call_rollup (
  local_date date not null,
  account_number text not null, -- Empty where the call reports none.
  local_hour integer not null, -- The hour repeated by the clock in autumn includes both.
  direction text not null, -- internal; of external calls inbound, outbound or unknown.
  is_business_hours boolean not null,
  call_count integer not null,
  answered_count integer not null,
  voicemail_count integer not null,
  abandoned_count integer not null, -- The caller gave up after more than the short-abandon threshold.
  short_abandoned_count integer not null, -- The caller gave up within the short-abandon threshold.
  missed_count integer not null, -- Nobody answered, and the caller is not reported to have given up.
  unknown_count integer not null,
  menu_count integer not null,
  talk_seconds bigint not null, -- Of the answered calls that report it.
  talk_count integer not null, -- Answered calls that report their connected time.
  answer_wait_seconds bigint not null, -- Total wait of the answered inbound calls.
  answer_wait_count integer not null, -- Answered inbound calls whose wait is known.
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

-- Numbers of the account, queues and huntgroups that calls involved; read queues and huntgroups through dim_queue. Rows are never deleted.
create table rollups.endpoints (
  kind text not null check (kind in ('number', 'queue', 'huntgroup')),
  endpoint text not null, -- The number; of a queue or huntgroup without one, its name.
  endpoint_name text, -- Name of a queue or huntgroup, as the newest call shows it.
  last_date date not null,
  primary key (kind, endpoint)
);

-- Numbers of other parties of calls and texts; read it through dim_contact. An erasure deletes the row.
create table rollups.contacts (
  number text primary key
);

-- Calls by local hour and user; read it through agent_hourly.
create table rollups.call_agent_rollup (
  local_date date not null,
  local_hour integer not null,
  user_id bigint not null,
  direction text not null, -- internal; of external calls inbound, outbound or unknown.
  handled_count integer not null,
  answered_count integer not null,
  placed_count integer not null,
  connected_count integer not null, -- Of the handled, those that the user answered, or placed and somebody answered.
  placed_connected_count integer not null, -- Of the placed, those that somebody answered.
  unconnected_count integer not null, -- Of the placed, those that nobody or a mailbox answered.
  rang_count integer not null, -- Calls that rang at the user's and that the user did not answer.
  talk_seconds bigint not null, -- The user's connected time on the connected calls, where legs or the call report it.
  talk_count integer not null, -- Of the connected calls, those whose connected time is reported.
  primary key (local_date, user_id, direction, local_hour)
);

-- Visits of external calls to queues and huntgroups; read it through fct_queue_visit.
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
  endpoint text not null, -- Its number; its name where it has none.
  entered_at timestamptz, -- When the call entered it; NULL = not known.
  outcome text not null check (outcome in
    ('answered', 'abandoned', 'short_abandoned', 'overflowed', 'voicemail', 'left', 'missed', 'unknown')),
  wait_seconds integer,
  wait_basis text not null check (wait_basis in ('legs', 'duration_minus_talk', 'unknown')),
  next_queue text, -- Where an overflowed visit continued, as in dim_queue.
  changed_at timestamptz not null default now(),
  primary key (call_id, visit_number)
);
create index queue_visits_started_at on rollups.queue_visits (started_at);
create index queue_visits_local_date on rollups.queue_visits (local_date);

-- Inbound external calls that nobody answered, and how they were returned; read it through missed_calls. Contains no customer numbers.
create table rollups.missed_call_returns (
  call_id text primary key,
  started_at timestamptz not null,
  local_date date not null,
  outcome text not null,
  reached text not null,
  is_business_hours boolean not null,
  account_number text,
  duration_seconds integer, -- Of the call.
  wait_seconds integer,
  called_back_call_id text, -- The call that returned it, by the service.
  -- The last two are no returns: a rule or an unknown sender texted the number within the window.
  returned_by text check (returned_by in ('called_back', 'outbound_call', 'caller_got_through', 'text', 'automatic_text', 'text_by_unknown')),
  returned_at timestamptz,
  returned_call_id text,
  texted_at timestamptz, -- First text of a rule or of an unknown sender within the window.
  reached_at timestamptz, -- First call within the window on which somebody spoke with the caller.
  -- 1 business day: by the end of the next one.
  returned_within text check (returned_within in ('1 hour', '4 hours', '1 business day', 'later')),
  return_seconds integer,
  return_business_seconds bigint, -- NULL also when the schedule was closed all the way.
  changed_at timestamptz not null default now()
);
create index missed_call_returns_local_date on rollups.missed_call_returns (local_date);
create index missed_call_returns_returned_at on rollups.missed_call_returns (returned_at);
create index missed_call_returns_reached_at on rollups.missed_call_returns (reached_at) where reached_at is not null;
create index missed_call_returns_texted_at on rollups.missed_call_returns (texted_at) where texted_at is not null;
create index missed_call_returns_called_back on rollups.missed_call_returns (called_back_call_id) where called_back_call_id is not null;
-- Contains what /reports sums up, and the keys of joins: an index-only scan needs them even where the planner drops the join.
create index missed_call_returns_times on rollups.missed_call_returns (started_at)
  include (call_id, local_date, outcome, returned_by, return_seconds, reached_at);

-- Rollups of texts

-- Every time that a customer texted and it was our turn: from the first text to the reply. Percentiles of response times come from here,
-- since they do not add up.
create table rollups.sms_turns (
  conversation_id bigint not null,
  turn_number integer not null, -- From 1. Texts of ours before the customer's first belong to none.
  line text not null,
  turn_started_at timestamptz not null, -- A text of the customer after a text of ours, or after a pause longer than the session gap.
  inbound_count integer not null,
  is_last boolean not null, -- No later turn is held.
  first_reply_at timestamptz, -- Scheduled texts count when they are sent, blocked ones never.
  -- automatic: through the ledger; unknown: the service names no user either.
  first_reply_kind text check (first_reply_kind in ('user', 'automatic', 'unknown')),
  first_user_reply_by bigint, -- Within the session: an automatic reply does not end the wait for a person.
  reply_seconds integer, -- By the calendar.
  user_reply_seconds integer, -- By the calendar.
  is_business_hours boolean not null, -- At turn_started_at.
  user_reply_business_seconds integer, -- NULL where the schedule was closed all the way from the text to the reply.
  changed_at timestamptz not null default now(),
  primary key (conversation_id, turn_number)
);
create index sms_turns_unanswered on rollups.sms_turns (turn_started_at) where first_reply_at is null and is_last;
create index sms_turns_times on rollups.sms_turns (turn_started_at)
  include (conversation_id, line, first_user_reply_by, reply_seconds, user_reply_seconds, user_reply_business_seconds);

-- Texts by local day and line; read it through sms_daily.
create table rollups.sms_day_rollup (
  local_date date not null,
  line text not null,
  inbound_count integer not null,
  outbound_count integer not null, -- Texts of ours, blocked ones included: they were charged.
  outbound_user_count integer not null, -- Of these, sent by a person.
  outbound_automatic_count integer not null, -- Of these, sent by a rule, through the ledger.
  outbound_unknown_count integer not null, -- Of these, without a known sender: not sent by the ledger, and the service names no user.
  delivered_count integer not null, -- Outbound: delivered by the carrier's word.
  failed_count integer not null, -- Outbound: failed by the carrier's word.
  undetermined_count integer not null, -- Outbound: on its way, or a word that is not mapped.
  no_receipt_count integer not null, -- Outbound: the carrier has reported nothing, which is no failure.
  blocked_count integer not null, -- The number is blocked on the line; charged all the same.
  failures jsonb not null, -- The failed, blocked and unmapped ones: objects of class, status, error and texts.
  primary key (local_date, line)
);

-- What texts of rules cost, by local day and line; read it through sms_daily.
create table rollups.sms_cost_rollup (
  local_date date not null, -- On which they went out, or were to.
  line text not null,
  sent_count integer not null,
  segment_count integer not null,
  charged_micros bigint not null,
  unpriced_count integer not null, -- Texts sent whose price it did not report.
  unpriced_set_aside_micros bigint not null, -- Micro-dollars set aside for these, the worst case.
  -- Micro-dollars reserved for texts under way, and for texts whose outcome is unknown: the worst case.
  open_set_aside_micros bigint not null,
  primary key (local_date, line)
);

-- Rollups of transcripts

-- The columns that sums over transcripts need, so that they don't read transcripts; read it through fct_transcript. Only transcripts of
-- mirrored calls.
create table rollups.transcript_agents (
  transcript_id bigint primary key,
  call_id text not null,
  call_started_at timestamptz not null,
  local_date date not null,
  agent_user_id bigint, -- Who had the extension of the recorded leg then.
  call_purpose text,
  call_sentiment text,
  csat_score integer,
  agent_performance_score integer,
  is_action_required boolean,
  is_urgent_action_required boolean
);
create index transcript_agents_call_started_at on rollups.transcript_agents (call_started_at)
  include (transcript_id, local_date, agent_user_id, call_sentiment, csat_score, agent_performance_score);

-- Calls whose analysis says that somebody should act; read it through fct_action.
create table rollups.action_items (
  call_id text primary key,
  call_started_at timestamptz not null,
  local_date date not null,
  transcript_ids bigint[] not null, -- The urgent ones first.
  is_urgent boolean not null -- One of them says: at once.
);
create index action_items_call_started_at on rollups.action_items (call_started_at);
create index action_items_local_date on rollups.action_items (local_date);

-- Outcomes of rules and sends

-- Evaluations and steps of rules that are not in the daily totals yet. One row per batch of evaluations and per settled step.
create table ops.rule_tallies (
  tally_id bigint generated always as identity primary key,
  happened_at timestamptz not null, -- When the rules were evaluated.
  version text not null,
  -- Objects of rule, mode, word (reason without what follows a colon; or action_ and the state of a step) and count.
  counts jsonb not null,
  marked_at timestamptz not null default clock_timestamp()
);

-- Days of the send ledger whose totals are out of date. Deleted when the totals are computed again.
create table ops.send_markers (
  marker_id bigint generated always as identity primary key,
  planned_at timestamptz,
  charged_at timestamptz, -- On which they went out, or were to.
  marked_at timestamptz not null default clock_timestamp()
);

-- State of the totals of rules and sends; one row.
create table ops.outcome_state (
  is_only boolean default true primary key check (is_only),
  time_zone text, -- By whose days sends are counted. If reporting.params has another one, they are counted again.
  drained_at timestamptz, -- When nothing was left to add.
  last_error text, -- Of a drain.
  failing_since_at timestamptz -- When the first drain of the present failures failed.
);
insert into ops.outcome_state default values;

-- What each rule did, by local day; read it through rule_outcomes.
create table rollups.rule_outcome_rollup (
  local_date date not null, -- On which the rule was tried, or its text was planned.
  rule text not null,
  version text not null,
  mode text not null,
  evaluation_count integer not null default 0,
  matched_count integer not null default 0,
  condition_false_count integer not null default 0, -- Not to act: its condition did not hold.
  limited_count integer not null default 0, -- Not to act: its own limit was reached.
  error_count integer not null default 0, -- Not to act: its condition or template failed.
  action_done_count integer not null default 0,
  action_would_count integer not null default 0, -- Steps other than replies that dry-run recorded and did not execute.
  action_failed_count integer not null default 0, -- Steps other than replies that the service refused.
  planned_count integer not null default 0,
  sent_count integer not null default 0,
  would_send_count integer not null default 0, -- Of these, not sent only because of dry-run.
  blocked_count integer not null default 0, -- Of these, stopped by a gate.
  blocked_by_gate jsonb not null default '{}',
  skipped_count integer not null default 0, -- Of these, skipped by the service and not charged.
  rejected_count integer not null default 0, -- Of these, refused by the service and not charged.
  not_sent_count integer not null default 0, -- Of these, given up, provably not sent.
  waiting_count integer not null default 0, -- Of these, not out yet.
  unclear_count integer not null default 0, -- Of these, it is not known whether they were sent.
  would_segment_count integer not null default 0, -- Segments of the texts that dry-run kept back, worst case.
  charged_micros bigint not null default 0,
  replied_count integer not null default 0, -- A text of the recipient followed within 24 hours.
  opted_out_count integer not null default 0, -- A word such as STOP followed within 24 hours.
  primary key (local_date, rule, version, mode)
);
