create schema warehouse;
create schema secrets;
create schema ops;
create schema rollups;
create schema reporting;

comment on schema warehouse is 'The mirror of the telephony account. Every row was read through the API. NULL means that the service did not report the value.';
comment on schema secrets is 'Links that work without a login: whoever has one can play or see its content. Only the daemon reads this schema.';
comment on schema ops is 'The state of the daemon: deliveries, sync targets, coverage, sends, rules, processes.';
comment on schema rollups is 'Precomputed sums and matches for the views of reporting, updated by the workers. Do not query them directly.';
comment on schema reporting is 'For BI tools: facts (fct_), dimensions (dim_), totals, and definitions that the owner may change.';

create sequence ops.fetch_seq as bigint;
comment on sequence ops.fetch_seq is 'Every read of the API takes a number before it starts. A row is replaced only by a read with a higher number than the one that wrote it.';
create table ops.migrations (
  name text primary key,
  timestamp text not null,
  text_hash text
);
comment on table ops.migrations is 'The migrations that this database has.';
comment on column ops.migrations.name is 'Name of the file in the folder migrations, without .sql.';
comment on column ops.migrations."timestamp" is 'When it was applied, ISO 8601, UTC.';
comment on column ops.migrations.text_hash is 'Hash of its text: when that is edited, which only happens before the first release, the database cannot be upgraded.';

create table ops.locks (
  name text primary key
);
comment on table ops.locks is 'Locks for work that only one process may do at a time. Only the daemon may read the table; any role could take an advisory lock.';
comment on column ops.locks.name is 'What is locked; src/db/locks.ts has the names.';
insert into ops.locks (name) values ('alerts'), ('audits'), ('bi_role'), ('directory'), ('notifications'), ('oauth_tokens'), ('outcomes'),
  ('retention'), ('rollups'), ('rule_events'), ('search'), ('subscriptions'), ('views');

create table ops.routines (
  file_name text primary key,
  text_hash text not null,
  applied_at timestamptz not null default now()
);
comment on table ops.routines is 'The applied files of functions and triggers.';
comment on column ops.routines.file_name is 'Name of the file.';
comment on column ops.routines.text_hash is 'Hash of its text: when it differs, the file is applied again.';
comment on column ops.routines.applied_at is 'When it was last applied.';

create table ops.views (
  view_name text primary key,
  text_hash text not null,
  applied_at timestamptz not null default now()
);
comment on table ops.views is 'The views of the schema reporting that a release created.';
comment on column ops.views.view_name is 'The view.';
comment on column ops.views.text_hash is 'Hash of its text: when it differs, the view is created again.';
comment on column ops.views.applied_at is 'When it was created.';

create table ops.processes (
  process_id text primary key,
  role text,
  started_at timestamptz,
  seen_at timestamptz,
  address_hash text,
  checked_at timestamptz,
  secret_hash text,
  key_name text,
  connections integer,
  rules_mode text check (rules_mode in ('off', 'dry-run', 'live')),
  api_answered_at timestamptz,
  api_waiting_from timestamptz,
  api_waiting_operation text,
  api_failing_from timestamptz,
  account_problem text,
  watches_until timestamptz,
  disk_full_at timestamptz,
  read_only_at timestamptz,
  is_refusing boolean not null default false
);
comment on table ops.processes is 'The running processes, as each last reported itself, and the receivers that recently checked the webhook subscriptions.';
comment on column ops.processes.process_id is 'Random for each process; the address_hash for a receiver that reports nothing else.';
comment on column ops.processes.role is 'web, worker, or start, which is both.';
comment on column ops.processes.started_at is 'When it first reported itself.';
comment on column ops.processes.seen_at is 'When it last reported itself, every two seconds while it runs; a process that ends removes its row.';
comment on column ops.processes.address_hash is 'Of a receiver: SHA-256 of its webhook address, which contains WEBHOOK_SECRET.';
comment on column ops.processes.checked_at is 'Of a receiver: when it last checked the subscriptions.';
comment on column ops.processes.secret_hash is 'Of a receiver: SHA-256 of WEBHOOK_SECRET. The other receivers accept it too while this one runs.';
comment on column ops.processes.key_name is 'Name of the key that it seals links with, as in each sealed value; NULL when it has none.';
comment on column ops.processes.connections is 'Maximum number of its connections to Postgres.';
comment on column ops.processes.rules_mode is 'RULES_MODE of a worker.';
comment on column ops.processes.api_answered_at is 'When the service last answered a request of this process, with whatever status.';
comment on column ops.processes.api_waiting_from is 'Start of the oldest request that the service has not answered; NULL when there is none.';
comment on column ops.processes.api_waiting_operation is 'The operation of that request.';
comment on column ops.processes.account_problem is 'Why the account that answers this process is not the mirrored one; NULL when it is, or when it was not checked yet.';
comment on column ops.processes.api_failing_from is 'Since when every request to the service has failed, if that lasts or its circuit breaker is open; NULL otherwise.';
comment on column ops.processes.disk_full_at is 'When Postgres last refused a write of this process because its disk was full.';
comment on column ops.processes.read_only_at is 'When a session of this process was last read-only: the database was, or the server is a standby.';
comment on column ops.processes.is_refusing is 'Whether the last delivery that this process received could not be stored, less than a minute ago.';
comment on column ops.processes.watches_until is 'End of the lease of the one process that watches the health checks for alerts.';

create table ops.incarnation (
  is_only boolean default true primary key check (is_only),
  deployment_id uuid,
  incarnation_id uuid,
  former_ids uuid[] not null default '{}',
  report_count bigint not null default 0,
  reported_at timestamptz not null default now(),
  server text,
  lost_from timestamptz,
  lost_until timestamptz,
  noticed_at timestamptz,
  recovered_at timestamptz
);
insert into ops.incarnation default values;
comment on table ops.incarnation is 'By which processes notice that the database went back in time: a standby was promoted that lacked the last seconds, or a back-up was restored. One row; they keep a copy outside of Postgres, and compare it.';
comment on column ops.incarnation.is_only is 'There is one row.';
comment on column ops.incarnation.deployment_id is 'Random, and never changes: names what is kept outside of Postgres. NULL before the first process reported itself.';
comment on column ops.incarnation.incarnation_id is 'Random, and changes whenever the database was found to have gone back.';
comment on column ops.incarnation.former_ids is 'Those before, the last one at the end: who still knows one of them has noticed nothing new.';
comment on column ops.incarnation.report_count is 'Reports of all processes so far. A lower number than before shows that the database went back.';
comment on column ops.incarnation.reported_at is 'The last of them: what was written after it may be lost when the database goes back.';
comment on column ops.incarnation.server is 'The server that took the last report: system identifier, database and timeline. NULL when Postgres does not say.';
comment on column ops.incarnation.lost_from is 'Start of the last time whose writes are lost; NULL when there never was one.';
comment on column ops.incarnation.lost_until is 'Its end. What rules may have done for triggers before it is not done again.';
comment on column ops.incarnation.noticed_at is 'When that was noticed.';
comment on column ops.incarnation.recovered_at is 'When all threads had been read again, and sends were resumed; NULL until then.';

-- Alerts

create table ops.account (
  is_only boolean default true primary key check (is_only),
  recognized_at timestamptz,
  accepted_at timestamptz,
  is_sandbox boolean not null default false
);
comment on table ops.account is 'The mirrored account; one row. It is recognized by its mirrored calls, lines and users. While another account answers, nothing is read.';
comment on column ops.account.is_only is 'There is one row.';
comment on column ops.account.recognized_at is 'Start of the last check that recognized the account. Calls read after it cannot be used to recognize it yet.';
comment on column ops.account.accepted_at is 'When the operator last accepted the account that answered. Data read earlier is not used to recognize it.';
comment on column ops.account.is_sandbox is 'Whether it is the sandbox run by start: the mirror follows its resets.';

create table ops.alerts (
  alert_id uuid primary key default gen_random_uuid(),
  check_name text not null,
  level text not null check (level in ('warning', 'problem')),
  sentence text not null,
  remedy text not null,
  known_at timestamptz not null,
  found_at timestamptz not null default now(),
  begun_at timestamptz,
  missed_at timestamptz,
  ended_at timestamptz
);
create unique index alerts_open on ops.alerts (check_name) where ended_at is null;
comment on table ops.alerts is 'Findings of health checks, from the first evaluation on. An alert that did not last is deleted; one that ended is kept for 30 days.';
comment on column ops.alerts.alert_id is 'Random.';
comment on column ops.alerts.check_name is 'The health check.';
comment on column ops.alerts.level is 'warning or problem: the highest so far.';
comment on column ops.alerts.sentence is 'What is wrong, as sent in alerts: without numbers, names and messages of others.';
comment on column ops.alerts.remedy is 'What to do.';
comment on column ops.alerts.known_at is 'Since when it is known to be so.';
comment on column ops.alerts.found_at is 'First evaluation that found it.';
comment on column ops.alerts.begun_at is 'When it had lasted long enough to be sent; NULL until then.';
comment on column ops.alerts.missed_at is 'First of the latest evaluations that did not find it; NULL while it is found.';
comment on column ops.alerts.ended_at is 'When it had been over long enough; NULL while it is open.';

create table ops.alert_messages (
  alert_id uuid not null references ops.alerts on delete cascade,
  target text not null,
  kind text not null check (kind in ('began', 'escalated', 'ended')),
  created_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  attempts integer not null default 0,
  sent_at timestamptz,
  last_error text,
  primary key (alert_id, target, kind)
);
create index alert_messages_unsent on ops.alert_messages (due_at) where sent_at is null;
comment on table ops.alert_messages is 'The messages about each alert for each target: it began, became a problem, or ended.';
comment on column ops.alert_messages.alert_id is 'The alert.';
comment on column ops.alert_messages.target is 'webhook, slack or email.';
comment on column ops.alert_messages.kind is 'began, escalated or ended.';
comment on column ops.alert_messages.created_at is 'When it was written. A message is given up after a day of failed attempts.';
comment on column ops.alert_messages.due_at is 'The next attempt. Claiming a message moves it into the future, so a process that dies only delays the message.';
comment on column ops.alert_messages.attempts is 'Attempts so far.';
comment on column ops.alert_messages.sent_at is 'When the target accepted it.';
comment on column ops.alert_messages.last_error is 'Why the last attempt failed, without addresses.';

-- Deliveries and sync targets

create table ops.deliveries (
  delivery_id bigint generated always as identity,
  received_at timestamptz not null default clock_timestamp(),
  event_type text,
  claimed_type text,
  content_type text,
  user_agent text,
  body text not null,
  body_hash text not null,
  targets text[] not null,
  is_recognized boolean not null,
  is_erased boolean not null default false,
  named text[] not null default '{}',
  primary key (delivery_id, received_at)
) partition by range (received_at);
create index deliveries_received_at on ops.deliveries using brin (received_at);
create index deliveries_unrecognized on ops.deliveries (delivery_id) where not is_recognized;
comment on table ops.deliveries is 'The inbox: every webhook request that was answered 2xx, committed before the answer. The receivers add its partitions; expired ones are dropped.';
comment on column ops.deliveries.delivery_id is 'Order of arrival.';
comment on column ops.deliveries.received_at is 'When the request was stored.';
comment on column ops.deliveries.event_type is 'Event type in the address of the request; NULL when the address has none.';
comment on column ops.deliveries.claimed_type is 'Event type that the body states.';
comment on column ops.deliveries.content_type is 'Content-Type header, without its parameters.';
comment on column ops.deliveries.user_agent is 'User-Agent header, without addresses and tokens.';
comment on column ops.deliveries.body is 'The body with secrets and addresses redacted. If it could not be parsed, only names, numbers and words of the service are kept. If it is not text, its bytes as a base64 data URL.';
comment on column ops.deliveries.body_hash is 'Fingerprint of type and canonical body: equal for a repeated delivery.';
comment on column ops.deliveries.targets is 'What the delivery points at, each as "kind key".';
comment on column ops.deliveries.is_recognized is 'False when the body has no reference, or more than the 500 that are used of one delivery. Such a delivery can be parsed again.';
comment on column ops.deliveries.is_erased is 'It mentioned a person who was erased, so its body was removed.';
comment on column ops.deliveries.named is 'Texts that it names, each as "line/number[/participants] id"; the first thousand.';

create table ops.deliveries_other (like ops.deliveries including defaults including comments);
alter table ops.deliveries attach partition ops.deliveries_other default;
comment on table ops.deliveries_other is 'Deliveries for times without a partition.';

create table ops.sync_targets (
  kind text not null,
  key text not null,
  dirty_version bigint not null default 1,
  claimed_version bigint not null default 0,
  clean_version bigint not null default 0,
  due_at timestamptz not null default now(),
  enqueued_at timestamptz not null default now(),
  read_at timestamptz,
  attempts integer not null default 0,
  misses integer not null default 0,
  state text not null default 'active' check (state in ('active', 'gone', 'forbidden', 'refused')),
  last_error text,
  priority smallint not null default 0,
  claimed_until timestamptz not null default '-infinity',
  refused_at timestamptz,
  is_unconfirmed boolean not null default false,
  delivery_id bigint,
  lost_reads smallint not null default 0,
  primary key (kind, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index sync_targets_due on ops.sync_targets (priority, due_at, kind) where dirty_version > clean_version;
create index sync_targets_failed on ops.sync_targets (kind) where last_error is not null;
create index sync_targets_lost on ops.sync_targets (lost_reads, due_at) where lost_reads > 0;
create index sync_targets_unconfirmed on ops.sync_targets (kind) where priority >= 2;
comment on table ops.sync_targets is 'Everything that can be read from the API. A target is pending while dirty_version > clean_version, and is then read at due_at.';
comment on column ops.sync_targets.kind is 'What is read: thread, call, recordings, transcripts, or a list of the account such as users.';
comment on column ops.sync_targets.key is 'Which one: line/number[/participants], a call id, or "all".';
comment on column ops.sync_targets.dirty_version is 'Raised by every reference to it, unless a pending read has not started yet.';
comment on column ops.sync_targets.claimed_version is 'The dirty_version when the newest read started.';
comment on column ops.sync_targets.clean_version is 'The dirty_version when the newest applied read started.';
comment on column ops.sync_targets.due_at is 'The earliest time of its next read.';
comment on column ops.sync_targets.enqueued_at is 'When a job was last enqueued for it, or the sweep took it up. If that was too long ago, the sweep reads it.';
comment on column ops.sync_targets.read_at is 'When its newest read started.';
comment on column ops.sync_targets.attempts is 'Reads that failed in a row.';
comment on column ops.sync_targets.misses is 'Reads in a row that did not find it.';
comment on column ops.sync_targets.state is 'active, or the result of its last read: gone (three spaced 404), forbidden (403), refused (400).';
comment on column ops.sync_targets.last_error is 'Why the last read failed.';
comment on column ops.sync_targets.priority is '0: live. 1: history, read after live targets. 2 and 3: unconfirmed, read slowly after all others; 3 if a delivery with many references named it, or if a read did not find it.';
comment on column ops.sync_targets.claimed_until is 'End of the lease of the worker that reads it, which renews it during the read.';
comment on column ops.sync_targets.refused_at is 'Since when its reads have been forbidden or refused; NULL when the last one was not.';
comment on column ops.sync_targets.is_unconfirmed is 'Named only by deliveries and not found by any read yet: it may not exist.';
comment on column ops.sync_targets.lost_reads is 'How many of its last reads ended together with their process. 0: none. 1: it is read apart from other targets, together with others like it. 2: alone. 3 and more: it was read alone and is set aside.';
comment on column ops.sync_targets.delivery_id is 'The delivery that last made it pending (the first one of a batch), directly or through the read of another target. NULL when something else did.';

create table ops.streams (
  kind text primary key,
  parked_until timestamptz not null,
  parked_at timestamptz not null default now(),
  code text not null default 'unauthenticated',
  reason text not null,
  missing_scope text
);
comment on table ops.streams is 'Kinds of target that are parked because the credential may not read them. The row is deleted when a read succeeds.';
comment on column ops.streams.kind is 'The kind of target.';
comment on column ops.streams.parked_until is 'When a read of this kind is tried again.';
comment on column ops.streams.parked_at is 'When the first read was refused.';
comment on column ops.streams.code is 'Why the read failed: login_required when nobody is logged in any more; unauthenticated or insufficient_scope when the service refused.';
comment on column ops.streams.reason is 'The service''s refusal.';
comment on column ops.streams.missing_scope is 'Scope to grant to the credential, if the service named it.';

create table ops.subscription_watch (
  event_type text primary key,
  subscription_id bigint,
  is_created_here boolean not null,
  state text not null check (state in ('in_place', 'broken', 'to_create_by_hand')),
  in_place_at timestamptz,
  changed_at timestamptz not null default now(),
  last_fault text
);
comment on table ops.subscription_watch is 'The webhook subscriptions that the daemon needs, as the last check found or left them.';
comment on column ops.subscription_watch.event_type is 'The event type.';
comment on column ops.subscription_watch.subscription_id is 'The subscription that delivers it.';
comment on column ops.subscription_watch.is_created_here is 'Whether the daemon created it. If so, the daemon may also repair its address.';
comment on column ops.subscription_watch.state is 'in_place; broken, while it is being repaired; to_create_by_hand, if the service refused to create it.';
comment on column ops.subscription_watch.in_place_at is 'When a check last found it correct, or repaired it.';
comment on column ops.subscription_watch.changed_at is 'When it was last repaired or created.';
comment on column ops.subscription_watch.last_fault is 'What was wrong at the last repair: disabled, deleted, redirected, retyped or duplicated.';

create table ops.drift (
  operation text not null,
  path text not null,
  what text not null,
  sample text not null,
  seen_count bigint not null default 1,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  primary key (operation, path, what, sample)
);
comment on table ops.drift is 'Differences between the API''s answers and its specification. The rows are mirrored anyway.';
comment on column ops.drift.operation is 'The operation that answered.';
comment on column ops.drift.path is 'Position in the answer.';
comment on column ops.drift.what is 'unknown_key, unknown_value, null, wrong_type, missing_key or sibling_key.';
comment on column ops.drift.sample is 'The type or word found, never content.';
comment on column ops.drift.seen_count is 'How many answers showed it.';
comment on column ops.drift.first_seen_at is 'First time.';
comment on column ops.drift.last_seen_at is 'Latest time.';

-- Call-history coverage and back-fills

create table ops.coverage (
  stream text not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  state text not null default 'waiting' check (state in ('waiting', 'proven', 'differs', 'failed')),
  reported_count integer,
  held_count integer,
  unannounced_count integer,
  is_watched boolean not null,
  due_at timestamptz not null,
  claimed_until timestamptz not null default '-infinity',
  attempts integer not null default 0,
  checked_at timestamptz,
  proven_at timestamptz,
  last_error text,
  primary key (stream, from_at)
);
create index coverage_due on ops.coverage (due_at) where due_at < 'infinity';
comment on table ops.coverage is 'Call history compared with the service, hour by hour: how many calls it reports, and how many of them are mirrored.';
comment on column ops.coverage.stream is 'What was compared: calls.';
comment on column ops.coverage.from_at is 'Start of the hour, UTC.';
comment on column ops.coverage.to_at is 'End of the hour, exclusive.';
comment on column ops.coverage.state is 'waiting: never compared. proven: the service listed exactly as many calls as it reports, and all are mirrored. differs: the last comparison found a difference. failed: the comparison failed.';
comment on column ops.coverage.reported_count is 'Distinct calls that the service listed for the hour.';
comment on column ops.coverage.held_count is 'Mirrored calls of the hour that are not deleted.';
comment on column ops.coverage.unannounced_count is 'Reported calls that no webhook had announced; NULL for hours before webhooks were expected.';
comment on column ops.coverage.is_watched is 'Whether webhooks were expected to announce the calls of the hour; false for history.';
comment on column ops.coverage.due_at is 'Next comparison: minutes after the end of the hour, then again for late changes; infinity after the last one.';
comment on column ops.coverage.claimed_until is 'End of the lease of the process that compares it.';
comment on column ops.coverage.attempts is 'Attempts in a row that did not prove it.';
comment on column ops.coverage.checked_at is 'When the last comparison ended.';
comment on column ops.coverage.proven_at is 'When it was last proven.';
comment on column ops.coverage.last_error is 'Why the last attempt did not prove it.';

create table ops.backfills (
  backfill_id bigint generated always as identity primary key,
  stream text not null,
  asked_from timestamptz not null,
  asked_to timestamptz not null,
  has_artefacts boolean not null,
  done_until timestamptz not null,
  mirrored_count bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  is_automatic boolean not null default false,
  claimed_until timestamptz
);
create unique index backfills_unfinished on ops.backfills (stream, asked_from, asked_to, has_artefacts) where finished_at is null and not is_automatic;
create unique index backfills_automatic on ops.backfills (stream) where is_automatic;
comment on table ops.backfills is 'Back-fills: requested with `npx trunkline backfill`, or of the first start. An unfinished one resumes where it stopped.';
comment on column ops.backfills.is_automatic is 'Whether the first start asked for it (BACKFILL_DAYS).';
comment on column ops.backfills.claimed_until is 'End of the lease of the process that works on an automatic one.';
comment on column ops.backfills.backfill_id is 'Order of requests.';
comment on column ops.backfills.stream is 'What is filled: calls or threads.';
comment on column ops.backfills.asked_from is 'Start of the range.';
comment on column ops.backfills.asked_to is 'End of the range, exclusive; always in the past.';
comment on column ops.backfills.has_artefacts is 'Whether legs, recordings and transcripts are read too.';
comment on column ops.backfills.done_until is 'Calls before it are mirrored and compared; of threads, the share of the range is that of the callers who were asked for.';
comment on column ops.backfills.mirrored_count is 'Calls mirrored, or conversations found, so far.';
comment on column ops.backfills.started_at is 'When it was requested.';
comment on column ops.backfills.finished_at is 'When it was complete.';

-- Gap detection: texts that no delivery announced

create table ops.gaps (
  gap_id bigint generated always as identity primary key,
  stream text not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  reason text not null,
  noticed_at timestamptz not null default now(),
  next_try_at timestamptz not null default now(),
  filled_at timestamptz,
  last_error text
);
create index gaps_open on ops.gaps (stream, next_try_at) where filled_at is null;
comment on table ops.gaps is 'Periods in which webhooks may have been lost, and when the missing events were searched for.';
comment on column ops.gaps.gap_id is 'Order of detection.';
comment on column ops.gaps.stream is 'calls or texts.';
comment on column ops.gaps.from_at is 'Start, with some overlap.';
comment on column ops.gaps.to_at is 'End.';
comment on column ops.gaps.reason is 'Why deliveries may have been lost.';
comment on column ops.gaps.noticed_at is 'When the gap was detected.';
comment on column ops.gaps.next_try_at is 'When it is searched next.';
comment on column ops.gaps.filled_at is 'When the search was complete; NULL while it is open.';
comment on column ops.gaps.last_error is 'Why the last search failed.';

create table ops.thread_candidates (
  line text not null,
  number text not null,
  evidence text not null check (evidence in ('call', 'contact', 'import', 'unread', 'gap')),
  evidence_at timestamptz not null default now(),
  probed_at timestamptz,
  primary key (line, number)
);
create index thread_candidates_open on ops.thread_candidates (line, evidence_at) where probed_at is null;
comment on table ops.thread_candidates is 'Pairs of a line and a number that may have a conversation. The API cannot list conversations, so each pair is probed.';
comment on column ops.thread_candidates.line is 'The account''s line.';
comment on column ops.thread_candidates.number is 'The other party.';
comment on column ops.thread_candidates.evidence is 'Why there may be one: a call, a contact of another line, an imported list, unread texts of the line, a gap in the webhooks.';
comment on column ops.thread_candidates.evidence_at is 'When the evidence was last seen.';
comment on column ops.thread_candidates.probed_at is 'When the pair was last probed; ops.sync_targets has the state of that read.';

-- Attribution of calls to users and groups by searches

create table ops.attribution_days (
  local_date date primary key,
  claimed_until timestamptz not null,
  reached_count integer not null default 0,
  request_count integer not null default 0,
  attributed_count integer not null default 0,
  finished_at timestamptz,
  compare_again_at timestamptz,
  problem text
);
comment on table ops.attribution_days is 'Local days for which the service was asked, by queue, huntgroup and user, which calls they took part in. Done in the following night, with few requests.';
comment on column ops.attribution_days.local_date is 'The day.';
comment on column ops.attribution_days.claimed_until is 'End of the lease of the process that asks.';
comment on column ops.attribution_days.reached_count is 'Queues, huntgroups and users asked so far.';
comment on column ops.attribution_days.request_count is 'Requests so far.';
comment on column ops.attribution_days.attributed_count is 'Attributions found by these searches alone.';
comment on column ops.attribution_days.finished_at is 'When the last of them was asked.';
comment on column ops.attribution_days.compare_again_at is 'When the figures that differ (ops.tie_outs) are compared again; NULL = none differ, or the day is more than a week old.';
comment on column ops.attribution_days.problem is 'Why some of them attributed no calls; NULL = all did.';

create table ops.tie_outs (
  local_date date not null,
  kind text not null check (kind in ('status', 'day', 'queue', 'huntgroup', 'user')),
  name text not null,
  theirs integer not null,
  ours integer not null,
  call_ids text[] not null default '{}',
  unexplained_ids text[] not null default '{}',
  explained text,
  compared_at timestamptz not null default now(),
  primary key (local_date, kind, name)
);
comment on table ops.tie_outs is 'Figures of closed local days: what the service lists by a filtered search, beside what is held. The same searches attribute calls.';
comment on column ops.tie_outs.local_date is 'The day.';
comment on column ops.tie_outs.kind is 'What the search is filtered by: status (with the direction), queue, huntgroup or user; day: all calls, beside the totals of the reports.';
comment on column ops.tie_outs.name is 'The value, such as inbound answered, or the id of a user; empty for day.';
comment on column ops.tie_outs.theirs is 'Calls that the service lists.';
comment on column ops.tie_outs.ours is 'Calls that are held.';
comment on column ops.tie_outs.call_ids is 'The first 500 calls that only one of both has. They were read again.';
comment on column ops.tie_outs.unexplained_ids is 'Of these, those that differed before and still do, for no known reason.';
comment on column ops.tie_outs.explained is 'Why they differ, where that is known; you can write your own reason here. NULL = they do not, or it is not known.';
comment on column ops.tie_outs.compared_at is 'When they were compared last.';

-- Erasure

create table ops.erasures (
  erasure_id bigint generated always as identity primary key,
  number_hash text not null unique,
  erased_at timestamptz not null default now(),
  repeated_at timestamptz,
  removed jsonb not null default '{}',
  spelling_hashes text[] not null default '{}'
);
create index erasures_spellings on ops.erasures using gin (spelling_hashes);
comment on table ops.erasures is 'People erased with `npx trunkline erase`. Neither their number nor anything read or delivered about them is stored.';
comment on column ops.erasures.erasure_id is 'Order of erasing.';
comment on column ops.erasures.number_hash is 'SHA-256 of the salt and the normalised number.';
comment on column ops.erasures.erased_at is 'When it was first requested.';
comment on column ops.erasures.repeated_at is 'When it was last repeated.';
comment on column ops.erasures.removed is 'Rows that were removed or blanked, by table.';
comment on column ops.erasures.spelling_hashes is 'SHA-256 of the salt and each other spelling of the number: with and without the digit for mobiles of its country, with an exit code, with a 0 after the country code, as dialled inside its country.';
