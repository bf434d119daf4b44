-- The mirror of the telephony account. Every row was read through the API. NULL means that the service didn't report the value.
create schema warehouse;
-- Links that work without a login: whoever has one can play or see its content. Only the daemon reads this schema.
create schema secrets;
-- The state of the daemon: deliveries, sync targets, coverage, sends, rules, processes.
create schema ops;
-- Precomputed sums and matches for the views of reporting, updated by the workers. Don't query them directly.
create schema rollups;
-- For BI tools: facts (fct_), dimensions (dim_), totals, and definitions that the owner may change.
create schema reporting;

-- Every read of the API takes a number before it starts. A row is replaced only by a read with a higher number than its own.
create sequence ops.fetch_seq as bigint;

create table ops.migrations (
  name text primary key, -- Name of the file in the folder migrations, without .sql.
  applied_at timestamptz not null default now(),
  text_hash text not null -- When the text is edited, which only happens before the first release, the database can't be upgraded.
);

-- Locks for work that only one process may do at a time. Only the daemon may read the table; any role could take an advisory lock.
create table ops.locks (
  name text primary key -- As in src/db/locks.ts.
);
insert into ops.locks (name) values ('bi_role'), ('directory'), ('notifications'), ('outcomes'),
  ('retention'), ('rollups'), ('rule_events'), ('subscriptions'), ('views');

create table ops.routines (
  file_name text primary key,
  text_hash text not null -- When it differs, the file is applied again.
);

-- The views of the schema reporting that a release created.
create table ops.views (
  view_name text primary key,
  text_hash text not null -- When it differs, the view is created again.
);

-- The running processes, as each last reported itself.
create table ops.processes (
  process_id text primary key,
  role text not null, -- web, worker, or start, which is both.
  started_at timestamptz not null default now(),
  seen_at timestamptz not null, -- Every five seconds while it runs. A process that ends removes its row.
  address_hash text, -- Of a receiver: SHA-256 of its webhook address, which contains WEBHOOK_SECRET.
  connections integer,
  rules_mode text check (rules_mode in ('off', 'dry-run', 'live')),
  api_failing_from timestamptz, -- Since when every request has failed, if that lasts or its circuit breaker is open.
  account_problem text, -- Why the account that answers isn't the mirrored one.
  watches_until timestamptz, -- End of the lease of the one process that watches the health checks for alerts.
  disk_full_at timestamptz, -- When Postgres last refused a write because its disk was full.
  read_only_at timestamptz, -- When one of its sessions was last read-only.
  is_refusing boolean not null default false -- The last delivery couldn't be stored, less than a minute ago.
);

-- Shows processes that the database went back in time: somebody promoted a standby that lacked the last seconds, or restored a
-- back-up.
create table ops.last_report (
  is_only boolean default true primary key check (is_only),
  report_count bigint not null default 0, -- Of all processes. A lower number than before shows that the database went back.
  reported_at timestamptz not null default now(), -- Later writes may be lost when the database goes back.
  lost_from timestamptz, -- Start of the last period whose writes are lost.
  noticed_at timestamptz -- Its end.
);
insert into ops.last_report default values;

-- The mirrored account, recognized by its calls, lines and users. While another account answers, nothing is read.
create table ops.account (
  is_only boolean default true primary key check (is_only),
  recognized_at timestamptz, -- Start of the last check that recognized it. Calls read after it can't be used to recognize it yet.
  accepted_at timestamptz, -- When the operator last accepted the account. Data read earlier isn't used to recognize it.
  is_sandbox boolean not null default false -- The mirror follows the resets of the sandbox that start runs.
);

-- Alerts

-- What health checks found, one row per target, from the first evaluation that finds it. An alert that didn't last is deleted; one that
-- ended is kept for 30 days.
create table ops.alerts (
  alert_id uuid not null default gen_random_uuid(),
  target text not null, -- A name in NOTIFY_ALERTS.
  check_name text not null,
  level text not null check (level in ('warning', 'problem')), -- The highest so far.
  sentence text not null, -- As sent: without numbers, names and messages of others.
  remedy text not null,
  known_at timestamptz not null, -- When it was first known.
  found_at timestamptz not null default now(), -- First evaluation that found it.
  missed_at timestamptz, -- First of the latest evaluations that didn't find it; NULL while it is found.
  ended_at timestamptz, -- When it had been over long enough.
  news_at timestamptz, -- When it began, became a problem or ended, whatever was last. NULL until it has lasted.
  told text check (told in ('warning', 'problem', 'ended')), -- What the target accepted last.
  due_at timestamptz, -- When to tell the target. NULL if it knows. A claim moves it on, so a process that dies only delays it.
  tries integer not null default 0, -- Since the target last accepted a message. They end a day after the news.
  last_error text, -- Without addresses.
  primary key (alert_id, target)
);
create unique index alerts_open on ops.alerts (check_name, target) where ended_at is null;

-- Deliveries and sync targets

-- The inbox: every webhook request that was answered 2xx, committed before the answer.
create table ops.deliveries (
  delivery_id bigint generated always as identity primary key,
  received_at timestamptz not null default clock_timestamp(),
  event_type text, -- By the address of the request; NULL when it has none.
  claimed_type text,
  content_type text,
  user_agent text,
  body text not null, -- Without secrets and addresses. Empty if it has no reference: it is in secrets.bodies then.
  targets text[] not null, -- Each as "kind key".
  is_recognized boolean not null, -- False without a reference, or with more than 500.
  is_erased boolean not null default false, -- It mentioned a person who was erased: its body was removed.
  named text[] not null default '{}' -- The texts that it names, each as "line/number[/participants] id".
);
create index deliveries_received_at on ops.deliveries using brin (received_at);
create index deliveries_unrecognized on ops.deliveries (delivery_id) where not is_recognized;
create index deliveries_target on ops.deliveries ((targets[1]), delivery_id) where cardinality(targets) = 1;
create index deliveries_batches on ops.deliveries (delivery_id) where cardinality(targets) > 1;

-- Everything that can be read from the API. A target is pending while dirty_version > clean_version, and is then read at due_at.
create table ops.sync_targets (
  kind text not null, -- thread, call, recordings, transcripts, or a list of the account such as users.
  key text not null, -- line/number[/participants], a call id, or "all".
  dirty_version bigint not null default 1, -- Raised by every reference, unless a pending read hasn't started yet.
  claimed_version bigint not null default 0, -- dirty_version when the newest read started.
  clean_version bigint not null default 0, -- dirty_version when the newest applied read started.
  due_at timestamptz not null default now(),
  enqueued_at timestamptz not null default now(), -- When a job was last enqueued. If that was too long ago, the sweep reads the target.
  read_at timestamptz,
  attempts integer not null default 0,
  misses integer not null default 0, -- Reads in a row that didn't find it.
  -- Of its last read: gone after three spaced 404, forbidden 403, refused 400.
  state text not null default 'active' check (state in ('active', 'gone', 'forbidden', 'refused')),
  last_error text,
  priority smallint not null default 0, -- 0: live. 1: history. 2 and 3: unconfirmed; 3 if named beside many others, or not found.
  claimed_until timestamptz not null default '-infinity', -- End of the lease of the worker that reads it, which renews it.
  refused_at timestamptz, -- Since when its reads have been forbidden or refused.
  is_unconfirmed boolean not null default false, -- Only deliveries named it, and no read found it: it may not exist.
  delivery_id bigint, -- The delivery that last made it pending, directly or through another target.
  primary key (kind, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index sync_targets_due on ops.sync_targets (priority, due_at, kind) where dirty_version > clean_version;
create index sync_targets_failed on ops.sync_targets (kind) where last_error is not null;
create index sync_targets_unconfirmed on ops.sync_targets (kind) where priority >= 2;

-- Kinds of target that are parked because the credential may not read them. The row is deleted when a read succeeds.
create table ops.parked_kinds (
  kind text primary key,
  parked_until timestamptz not null, -- When a read is tried again.
  parked_at timestamptz not null default now(),
  reason text not null,
  missing_scope text -- Scope to grant to the API key, if the service named it.
);

-- The webhook subscriptions that the daemon needs, as the last check found or left them.
create table ops.subscription_watch (
  event_type text primary key,
  subscription_id bigint,
  is_created_here boolean not null, -- If so, the daemon may also repair its address.
  -- broken: it is being repaired; to_create_by_hand: the service refused to create it.
  state text not null check (state in ('in_place', 'broken', 'to_create_by_hand')),
  in_place_at timestamptz, -- When a check last found it correct, or repaired it.
  changed_at timestamptz not null default now(), -- When it was last repaired or created.
  last_fault text, -- disabled, deleted, redirected, retyped or duplicated.
  other_receivers text[] not null default '{}' -- Addresses of other receivers that get these events too, without their secrets.
);

-- Call-history coverage and back-fills

-- Call history compared with the service, hour by hour: how many calls it reports, and how many of them are mirrored.
create table ops.coverage (
  stream text not null, -- calls.
  from_at timestamptz not null, -- A whole hour, UTC.
  to_at timestamptz not null, -- Exclusive.
  -- proven: the service listed as many calls as it reports, and all are mirrored. differs, failed: the result of the last comparison.
  state text not null default 'waiting' check (state in ('waiting', 'proven', 'differs', 'failed')),
  reported_count integer, -- Distinct calls that the service listed.
  held_count integer, -- Mirrored and not deleted.
  unannounced_count integer, -- Reported, but announced by no webhook; NULL before webhooks were expected.
  is_watched boolean not null, -- Whether webhooks were expected to announce its calls; false for history.
  due_at timestamptz not null, -- Minutes after the end of the hour, then again for late changes; infinity after the last comparison.
  claimed_until timestamptz not null default '-infinity', -- End of a lease.
  attempts integer not null default 0, -- In a row, without proof.
  checked_at timestamptz,
  proven_at timestamptz,
  last_error text, -- Why the last attempt didn't prove it.
  primary key (stream, from_at)
);
create index coverage_due on ops.coverage (due_at) where due_at < 'infinity';

-- Back-fills: requested with `npx trunkline backfill`, or of the first start. An unfinished one resumes where it stopped.
create table ops.backfills (
  backfill_id bigint generated always as identity primary key,
  stream text not null, -- calls or threads.
  asked_from timestamptz not null,
  asked_to timestamptz not null, -- Exclusive; always in the past.
  has_artefacts boolean not null, -- Legs, recordings and transcripts are read too.
  -- Calls before it are mirrored and compared. For threads, it shows progress: its share of the range is the share of callers that were
  -- probed.
  done_until timestamptz not null,
  mirrored_count bigint not null default 0, -- Calls, or conversations.
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  is_automatic boolean not null default false, -- The first start asked for it (BACKFILL_DAYS).
  claimed_until timestamptz -- End of the lease of an automatic one.
);
create unique index backfills_unfinished on ops.backfills (stream, asked_from, asked_to, has_artefacts) where finished_at is null and not is_automatic;
create unique index backfills_automatic on ops.backfills (stream) where is_automatic;

-- Gap detection: texts that no delivery announced

-- Periods in which webhooks may have been lost, and when the missing events were searched for.
create table ops.gaps (
  gap_id bigint generated always as identity primary key,
  stream text not null,
  from_at timestamptz not null, -- With some overlap.
  to_at timestamptz not null,
  reason text not null,
  noticed_at timestamptz not null default now(),
  next_try_at timestamptz not null default now(),
  filled_at timestamptz, -- When the search was complete.
  last_error text
);
create index gaps_open on ops.gaps (stream, next_try_at) where filled_at is null;

-- Pairs of a line and a number that may have a conversation. The API can't list conversations, so each pair is probed.
create table ops.thread_candidates (
  line text not null,
  number text not null,
  -- contact: of another line; unread: texts of the line; gap: in the webhooks.
  evidence text not null check (evidence in ('call', 'contact', 'import', 'unread', 'gap')),
  evidence_at timestamptz not null default now(),
  probed_at timestamptz, -- ops.sync_targets has the state of that read.
  primary key (line, number)
);
create index thread_candidates_open on ops.thread_candidates (line, evidence_at) where probed_at is null;

-- Attribution of calls to users and groups by searches

-- Local days for which the service was asked which calls each queue, huntgroup and user took part in. The following night asks, with
-- few requests.
create table ops.attribution_days (
  local_date date primary key,
  claimed_until timestamptz not null, -- End of a lease.
  read_again_at timestamptz, -- When the calls that differed were marked; the day is asked once more after that.
  finished_at timestamptz,
  problem text, -- Why some of them attributed no calls.
  -- Where the service's listing and the mirror differ, by queue, huntgroup or user, or by direction and status: kind, name, theirs, ours,
  -- callIds.
  differences jsonb not null default '[]'
);

-- Erasure

-- People erased with `npx trunkline erase`. Neither their number nor anything read or delivered about them is stored.
create table ops.erasures (
  erasure_id bigint generated always as identity primary key,
  number_hash text not null unique, -- SHA-256 of the salt and the normalised number.
  erased_at timestamptz not null default now(),
  removed jsonb not null default '{}', -- Rows removed or blanked, by table.
  -- Hashes of each other spelling: with and without a digit for mobiles, with an exit code, as dialled inside its country.
  spelling_hashes text[] not null default '{}'
);
create index erasures_spellings on ops.erasures using gin (spelling_hashes);
