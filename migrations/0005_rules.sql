-- Each text of the rules that was applied. The newest is in force for all workers.
create table ops.rule_versions (
  version integer primary key,
  body text not null,
  applied_at timestamptz not null default clock_timestamp(), -- When it came into force.
  applied_by text not null, -- A name, or RULES_FILE.
  why text,
  file_hash text, -- Of RULES_FILE: a file that didn't change isn't applied again.
  rules jsonb not null default '[]', -- Name, trigger and mode of each, in order, and whether it depends on hours in TIME_ZONE.
  limits jsonb not null default '{}', -- Sends a day, and micro-dollars.
  since jsonb not null default '{}' -- Since when each rule has been in force without interruption, by name, trigger and idle time.
);

-- Newly mirrored triggers, inserted by the transaction that mirrors them and deleted by the one that evaluates them.
create table ops.rule_events (
  event_id bigint generated always as identity primary key,
  kind text not null, -- message_received, call_missed, call_ended, voicemail_left, transcript_ready or action_required.
  key text not null, -- conversation/message, a call id or a transcript id.
  happened_at timestamptz not null, -- At the service; for transcripts, when they were mirrored.
  noted_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  tries integer not null default 0,
  rules jsonb, -- Those that are evaluated on it; NULL = all.
  after_seconds integer -- It waits for rules with after, so many seconds after happened_at; NULL = for those without.
);

-- Evaluations that matched, were refused (too old, a limit, a stop, an error), or concerned an idle thread; all others are only counted.
-- One row per rule and trigger.
create table ops.rule_runs (
  run_id bigint generated always as identity primary key,
  rule text not null,
  version text not null,
  trigger_kind text not null,
  trigger_key text not null, -- conversation/message, a call id, a transcript id.
  trigger_at timestamptz not null, -- When it happened, plus after_seconds. The facts are from that time.
  after_seconds integer, -- From the event to trigger_at.
  evaluated_at timestamptz not null default clock_timestamp(),
  conversation_id bigint, -- The conversation, if there is one.
  line text, -- NULL without another party.
  number text,
  mode text not null check (mode in ('dry-run', 'live')), -- dry-run: its actions were recorded, not executed.
  is_matched boolean not null, -- Its condition and limits let it act.
  -- matched, or why not: condition_false, too_old, limit:…, stopped:…, reaction, group_thread, no_other_party, no_call_back, gone,
  -- rule_gone, error:….
  reason text not null,
  facts jsonb not null default '{}', -- As its condition used them; of names and texts, only the length.
  unique (rule, trigger_kind, trigger_key)
);
create index rule_runs_matched on ops.rule_runs (rule, trigger_at) where is_matched;
create index rule_runs_contact on ops.rule_runs (number, line, trigger_at) where is_matched;
create index rule_runs_evaluated_at on ops.rule_runs (evaluated_at);
create index rule_runs_unmatched on ops.rule_runs (evaluated_at) where not is_matched;

-- The steps of matched rules.
create table ops.rule_actions (
  run_id bigint not null references ops.rule_runs on delete cascade,
  ordinal smallint not null, -- From 1.
  kind text not null check (kind in ('reply', 'resolve', 'reopen', 'assign', 'comment', 'notify', 'webhook')),
  -- failed: the service or the target refused. unclear: the answer was lost, and it must not be repeated.
  state text not null check (state in ('waiting', 'done', 'failed', 'skipped', 'unclear', 'dry_run')),
  -- The note, the user, or the words and facts for a target. NULL once the step is settled; kept if a target refused them, for a retry.
  argument jsonb,
  target text, -- Of notify and webhook, the name in NOTIFY_TARGETS.
  send_id uuid, -- Of a reply.
  reason text,
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  claimed_until timestamptz not null default '-infinity', -- End of a lease.
  begun_at timestamptz, -- When a request was permitted that must not be repeated, or that tells a target something.
  settled_at timestamptz,
  primary key (run_id, ordinal)
);
create index rule_actions_waiting on ops.rule_actions (due_at) where state = 'waiting';
create index rule_actions_send on ops.rule_actions (send_id) where send_id is not null;
create index rule_actions_told on ops.rule_actions (target, settled_at) where target is not null and state in ('done', 'failed');
create index rule_actions_failed on ops.rule_actions (settled_at) where state in ('failed', 'unclear');
