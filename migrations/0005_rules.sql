create table ops.rule_versions (
  version integer primary key,
  body text not null,
  mode text not null default 'live' check (mode in ('off', 'dry-run', 'live')),
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text not null,
  why text,
  file_hash text,
  problem text,
  rules jsonb not null default '[]',
  limits jsonb not null default '{}',
  since jsonb not null default '{}'
);
comment on table ops.rule_versions is 'Each text of the rules that was applied or refused. In force, for all workers, is the newest that was not refused.';
comment on column ops.rule_versions.version is 'Counts from 1.';
comment on column ops.rule_versions.body is 'The rules as YAML.';
comment on column ops.rule_versions.mode is 'The most that its rules may do, beside RULES_MODE of each worker.';
comment on column ops.rule_versions.applied_at is 'When it came into force, or was refused.';
comment on column ops.rule_versions.applied_by is 'Who applied it: a name, or RULES_FILE.';
comment on column ops.rule_versions.why is 'The reason that was given.';
comment on column ops.rule_versions.file_hash is 'SHA-256 of RULES_FILE, if it is from there: a file that did not change is not applied again.';
comment on column ops.rule_versions.problem is 'Why RULES_FILE was refused; NULL = it was not.';
comment on column ops.rule_versions.rules is 'Name, trigger and mode of each rule, in order, and whether it depends on hours in TIME_ZONE.';
comment on column ops.rule_versions.limits is 'The account''s limits as the rules set them: sends a day, and micro-dollars.';
comment on column ops.rule_versions.since is 'Since when each rule has been in force without interruption, by name, trigger and idle time. A rule ignores threads that were idle long enough before, and triggers that another rule had replied to.';

create table ops.rule_events (
  event_id bigint generated always as identity primary key,
  kind text not null,
  key text not null,
  happened_at timestamptz not null,
  noted_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  tries integer not null default 0,
  rules jsonb,
  after_seconds integer
);
comment on table ops.rule_events is 'Newly mirrored triggers, inserted by the transaction that mirrors them and deleted by the one that evaluates them.';
comment on column ops.rule_events.event_id is 'Order of mirroring.';
comment on column ops.rule_events.kind is 'message_received, call_missed, call_ended, voicemail_left, transcript_ready or action_required.';
comment on column ops.rule_events.key is 'conversation/message, a call id or a transcript id.';
comment on column ops.rule_events.happened_at is 'When it happened at the service; for transcripts, when they were mirrored.';
comment on column ops.rule_events.noted_at is 'When it was mirrored.';
comment on column ops.rule_events.due_at is 'When it is evaluated next.';
comment on column ops.rule_events.tries is 'Evaluations that failed.';
comment on column ops.rule_events.rules is 'Names of the rules that are evaluated on it; NULL = all.';
comment on column ops.rule_events.after_seconds is 'It waits for rules with after, so many seconds after happened_at; NULL = for those without.';

create table ops.rule_runs (
  run_id bigint generated always as identity primary key,
  rule text not null,
  version text not null,
  trigger_kind text not null,
  trigger_key text not null,
  trigger_at timestamptz not null,
  after_seconds integer,
  evaluated_at timestamptz not null default clock_timestamp(),
  conversation_id bigint,
  line text,
  number text,
  mode text not null check (mode in ('dry-run', 'live')),
  is_matched boolean not null,
  reason text not null,
  facts jsonb not null default '{}',
  unique (rule, trigger_kind, trigger_key)
);
create index rule_runs_matched on ops.rule_runs (rule, trigger_at) where is_matched;
create index rule_runs_contact on ops.rule_runs (number, line, trigger_at) where is_matched;
create index rule_runs_evaluated_at on ops.rule_runs (evaluated_at);
create index rule_runs_unmatched on ops.rule_runs (evaluated_at) where not is_matched;
comment on table ops.rule_runs is 'Evaluations that matched, were refused (too old, a limit, a stop, an error), or concerned an idle thread; all others are only counted. One row per rule and trigger, whatever the version, because a rule acts only once.';
comment on column ops.rule_runs.run_id is 'Order of evaluation.';
comment on column ops.rule_runs.rule is 'Name of the rule.';
comment on column ops.rule_runs.version is 'Version of the rules then.';
comment on column ops.rule_runs.trigger_kind is 'Kind of the trigger.';
comment on column ops.rule_runs.trigger_key is 'Its key: conversation/message, a call id, a transcript id.';
comment on column ops.rule_runs.trigger_at is 'When it happened, or with after so much later. The facts are from that time.';
comment on column ops.rule_runs.after_seconds is 'Seconds from the event to trigger_at, by after of the rule; NULL = none.';
comment on column ops.rule_runs.evaluated_at is 'When the rule was evaluated.';
comment on column ops.rule_runs.conversation_id is 'The conversation, if there is one.';
comment on column ops.rule_runs.line is 'The account''s line; NULL if there is no other party.';
comment on column ops.rule_runs.number is 'The other party.';
comment on column ops.rule_runs.mode is 'dry-run: its actions were recorded, not executed; live.';
comment on column ops.rule_runs.is_matched is 'Whether its condition and limits let it act.';
comment on column ops.rule_runs.reason is 'matched, or why not: condition_false, too_old, limit:…, stopped:…, reaction, group_thread, no_other_party, no_call_back, gone, rule_gone, error:….';
comment on column ops.rule_runs.facts is 'The facts used by its condition; for names and texts, only the length.';

create table ops.rule_actions (
  run_id bigint not null references ops.rule_runs on delete cascade,
  ordinal smallint not null,
  kind text not null check (kind in ('reply', 'resolve', 'reopen', 'assign', 'comment', 'block', 'notify', 'webhook')),
  state text not null check (state in ('waiting', 'done', 'failed', 'skipped', 'unclear', 'dry_run')),
  argument jsonb,
  target text,
  send_id uuid,
  reason text,
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  claimed_until timestamptz not null default '-infinity',
  begun_at timestamptz,
  settled_at timestamptz,
  primary key (run_id, ordinal)
);
create index rule_actions_waiting on ops.rule_actions (due_at) where state = 'waiting';
create index rule_actions_send on ops.rule_actions (send_id) where send_id is not null;
create index rule_actions_told on ops.rule_actions (target, settled_at) where target is not null and state in ('done', 'failed');
create index rule_actions_failed on ops.rule_actions (settled_at) where state in ('failed', 'unclear');
comment on table ops.rule_actions is 'The steps of matched rules.';
comment on column ops.rule_actions.run_id is 'The run.';
comment on column ops.rule_actions.ordinal is 'Position among the steps, from 1.';
comment on column ops.rule_actions.kind is 'reply, resolve, reopen, assign, comment, block, notify or webhook.';
comment on column ops.rule_actions.state is 'waiting: not done yet. done. failed: the service or the target refused. skipped: see reason. unclear: the answer was lost, and it must not be repeated. dry_run: only recorded.';
comment on column ops.rule_actions.argument is 'What it needs: note, user, reason, or the words and facts for a target; NULL once it is settled, but kept where it failed to tell a target. For a notify that asks for an approval, the send. since: when it began to wait, if that was after the match.';
comment on column ops.rule_actions.target is 'For notify and webhook, the name in NOTIFY_TARGETS.';
comment on column ops.rule_actions.send_id is 'For a reply, the row in the send ledger.';
comment on column ops.rule_actions.reason is 'Why it is in this state.';
comment on column ops.rule_actions.tries is 'Requests so far.';
comment on column ops.rule_actions.due_at is 'When it is tried next.';
comment on column ops.rule_actions.claimed_until is 'End of the lease of the worker that executes it.';
comment on column ops.rule_actions.begun_at is 'When the permission to send a request that must not be repeated, or to tell a target something, was committed.';
comment on column ops.rule_actions.settled_at is 'When it reached a final state.';
