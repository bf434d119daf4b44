create table ops.rule_events (
  event_id bigint generated always as identity primary key,
  kind text not null,
  key text not null,
  happened_at timestamptz not null,
  noted_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  tries integer not null default 0
);
comment on table ops.rule_events is 'What was newly mirrored and rules may wait for, written by the transaction that mirrored it. A row goes in the transaction that evaluates it.';
comment on column ops.rule_events.event_id is 'Order of mirroring.';
comment on column ops.rule_events.kind is 'message_received, call_missed, call_ended, voicemail_left, transcript_ready or action_required.';
comment on column ops.rule_events.key is 'conversation/message, a call id or a transcript id.';
comment on column ops.rule_events.happened_at is 'When it happened at the service; of transcripts, when they were mirrored.';
comment on column ops.rule_events.noted_at is 'When it was mirrored.';
comment on column ops.rule_events.due_at is 'When it is evaluated next.';
comment on column ops.rule_events.tries is 'Evaluations that failed.';

-- History that is filled in makes no rule act: its writers set this for their transaction.
create function ops.is_history() returns boolean language sql stable as $$
  select coalesce(current_setting('trunkline.is_history', true), '') = 'on'
$$;
comment on function ops.is_history is 'Whether this transaction fills in history.';

create function ops.note_texts() returns trigger language plpgsql as $$
begin
  if ops.is_history() then return null; end if;
  insert into ops.rule_events (kind, key, happened_at)
  select 'message_received', conversation_id || '/' || message_id, sent_at
  from new_rows
  where direction = 'in' and is_scheduled is not true and sent_at > now() - interval '1 day'
  order by sent_at, message_id;
  return null;
end $$;
comment on function ops.note_texts is 'Tells the rules of texts that came in.';
create trigger note_texts after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.note_texts();

-- A call counts when its end is known, once under each name: what it is called can become known later.
create function ops.note_calls() returns trigger language plpgsql as $$
begin
  if ops.is_history() then return null; end if;
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.call_id, n.ended_at
    from new_rows n, lateral (values ('call_ended', true), ('call_missed', n.status = 'missed'), ('voicemail_left', n.status = 'voicemail')) e (kind, is_so)
    where e.is_so and n.ended_at > now() - interval '1 day' and not n.is_erased
    order by n.ended_at, n.call_id, e.kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.call_id, n.ended_at
    from new_rows n join old_rows o using (call_id),
      lateral (values ('call_ended', o.ended_at is null), ('call_missed', n.status = 'missed'), ('voicemail_left', n.status = 'voicemail')) e (kind, is_so)
    where e.is_so and n.ended_at > now() - interval '1 day' and not n.is_erased
      and (o.ended_at is null or o.status is distinct from n.status)
    order by n.ended_at, n.call_id, e.kind;
  end if;
  return null;
end $$;
comment on function ops.note_calls is 'Tells the rules of calls that ended.';
create trigger note_new_ends after insert on warehouse.calls referencing new table as new_rows
  for each statement execute function ops.note_calls();
create trigger note_ends after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function ops.note_calls();

-- Transcripts come as late as the analysis, so they count from when they are mirrored, for a day after the call; the call
-- itself can be mirrored after them.
create function ops.note_transcripts() returns trigger language plpgsql as $$
begin
  if ops.is_history() then return null; end if;
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.transcript_id, now()
    from new_rows n left join warehouse.calls c using (call_id),
      lateral (values ('transcript_ready', true), ('action_required', n.is_action_required or n.is_urgent_action_required)) e (kind, is_so)
    where e.is_so and coalesce(c.ended_at > now() - interval '1 day', true)
    order by n.transcript_id, e.kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select 'action_required', n.transcript_id, now()
    from new_rows n join old_rows o using (transcript_id) left join warehouse.calls c on c.call_id = n.call_id
    where (n.is_action_required or n.is_urgent_action_required) and (o.is_action_required or o.is_urgent_action_required) is not true
      and coalesce(c.ended_at > now() - interval '1 day', true)
    order by n.transcript_id;
  end if;
  return null;
end $$;
comment on function ops.note_transcripts is 'Tells the rules of transcripts.';
create trigger note_new_transcripts after insert on warehouse.transcripts referencing new table as new_rows
  for each statement execute function ops.note_transcripts();
create trigger note_transcripts after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function ops.note_transcripts();

create table ops.rule_runs (
  run_id bigint generated always as identity primary key,
  rule text not null,
  version text not null,
  trigger_kind text not null,
  trigger_key text not null,
  trigger_at timestamptz not null,
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
create index rule_runs_thread on ops.rule_runs (line, number, trigger_at) where is_matched;
create index rule_runs_evaluated_at on ops.rule_runs (evaluated_at);
comment on table ops.rule_runs is 'Every evaluation of a rule: what it was about, whether it matched, and why or why not. Once per rule and trigger, whatever the version.';
comment on column ops.rule_runs.run_id is 'Order of evaluation.';
comment on column ops.rule_runs.rule is 'Name of the rule.';
comment on column ops.rule_runs.version is 'Fingerprint of the rules file then.';
comment on column ops.rule_runs.trigger_kind is 'What it waits for.';
comment on column ops.rule_runs.trigger_key is 'Which one: conversation/message, a call id, a transcript id.';
comment on column ops.rule_runs.trigger_at is 'When that happened. Facts are those of that moment.';
comment on column ops.rule_runs.evaluated_at is 'When the rule was tried.';
comment on column ops.rule_runs.conversation_id is 'The conversation, where there is one.';
comment on column ops.rule_runs.line is 'The account''s line; NULL where nobody else takes part.';
comment on column ops.rule_runs.number is 'The other party.';
comment on column ops.rule_runs.mode is 'dry-run: its actions were noted and not done; live.';
comment on column ops.rule_runs.is_matched is 'Whether it was to act.';
comment on column ops.rule_runs.reason is 'matched, or why not: condition_false, too_old, limit:…, stopped:…, group_thread, no_other_party, gone, error:….';
comment on column ops.rule_runs.facts is 'The facts that its condition asked for; of what people wrote, said or are called the length alone.';

create table ops.rule_actions (
  run_id bigint not null references ops.rule_runs on delete cascade,
  ordinal smallint not null,
  kind text not null check (kind in ('reply', 'resolve', 'reopen', 'assign', 'comment', 'block')),
  state text not null check (state in ('waiting', 'done', 'failed', 'skipped', 'unclear', 'dry_run')),
  argument jsonb,
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
comment on table ops.rule_actions is 'What matched rules do, step by step.';
comment on column ops.rule_actions.run_id is 'The run.';
comment on column ops.rule_actions.ordinal is 'Position among the steps, from 1.';
comment on column ops.rule_actions.kind is 'reply, resolve, reopen, assign, comment or block.';
comment on column ops.rule_actions.state is 'waiting: not done yet. done. failed: the service refused. skipped: there was a reason not to. unclear: its answer was lost, and it must not be done twice. dry_run: it would have been done.';
comment on column ops.rule_actions.argument is 'Note, user or reason; NULL once it is settled.';
comment on column ops.rule_actions.send_id is 'Of a reply, the row of the send ledger.';
comment on column ops.rule_actions.reason is 'Why it stands where it stands.';
comment on column ops.rule_actions.tries is 'Requests so far.';
comment on column ops.rule_actions.due_at is 'When it is tried next.';
comment on column ops.rule_actions.claimed_until is 'Until when a worker has it for itself.';
comment on column ops.rule_actions.begun_at is 'When it was committed that a request may leave which must not be repeated.';
comment on column ops.rule_actions.settled_at is 'When it reached its state.';

create table ops.rules_loaded (
  is_only boolean primary key default true check (is_only),
  version text,
  mode text not null,
  rules jsonb not null default '[]',
  loaded_at timestamptz,
  checked_at timestamptz not null default now(),
  problem text,
  problem_at timestamptz
);
comment on table ops.rules_loaded is 'The rules that the workers go by; one row.';
comment on column ops.rules_loaded.is_only is 'There is one row.';
comment on column ops.rules_loaded.version is 'Fingerprint of the file that is in force; NULL = none was ever good.';
comment on column ops.rules_loaded.mode is 'RULES_MODE of the worker that wrote this.';
comment on column ops.rules_loaded.rules is 'Name, trigger and mode of each rule, in order.';
comment on column ops.rules_loaded.loaded_at is 'When that file was read.';
comment on column ops.rules_loaded.checked_at is 'When a worker last looked.';
comment on column ops.rules_loaded.problem is 'Why the newest file is not in force; NULL when it is.';
comment on column ops.rules_loaded.problem_at is 'When that was found.';

create table warehouse.sms_conversation_events (
  event_id bigint generated always as identity primary key,
  conversation_id bigint not null,
  axis text not null check (axis in ('resolved', 'assigned', 'comment')),
  is_resolved boolean,
  user_id bigint,
  resolved_at timestamptz,
  actor text not null,
  observed_at timestamptz not null default clock_timestamp(),
  observed_via text not null,
  run_id bigint
);
create index sms_conversation_events_of on warehouse.sms_conversation_events (conversation_id, axis, observed_at);
comment on table warehouse.sms_conversation_events is 'What answers to our own calls said of conversations. No other answer tells of it, so what people do in the portal is not here.';
comment on column warehouse.sms_conversation_events.event_id is 'Order of observation.';
comment on column warehouse.sms_conversation_events.conversation_id is 'The conversation.';
comment on column warehouse.sms_conversation_events.axis is 'resolved: open or resolved; assigned: to whom; comment: an internal note was added.';
comment on column warehouse.sms_conversation_events.is_resolved is 'State that the answer showed; every answer shows it.';
comment on column warehouse.sms_conversation_events.user_id is 'On the axis resolved the user credited, NULL for an integration; on assigned the user, NULL = nobody.';
comment on column warehouse.sms_conversation_events.resolved_at is 'When it was resolved, as answered.';
comment on column warehouse.sms_conversation_events.actor is 'The rule that did it.';
comment on column warehouse.sms_conversation_events.observed_at is 'When the answer came.';
comment on column warehouse.sms_conversation_events.observed_via is 'The operation.';
comment on column warehouse.sms_conversation_events.run_id is 'The run in ops.rule_runs.';

create table warehouse.blocked_senders (
  line text not null,
  number text not null,
  reason text,
  blocked_at timestamptz,
  observed_at timestamptz not null default clock_timestamp(),
  observed_via text not null,
  primary key (line, number)
);
comment on table warehouse.blocked_senders is 'Senders known to be blocked, from answers to our own calls: the API cannot list them.';
comment on column warehouse.blocked_senders.line is 'The account''s line.';
comment on column warehouse.blocked_senders.number is 'The blocked party.';
comment on column warehouse.blocked_senders.reason is 'Kept with the block, never shown to them.';
comment on column warehouse.blocked_senders.blocked_at is 'When it was blocked.';
comment on column warehouse.blocked_senders.observed_at is 'When the answer came.';
comment on column warehouse.blocked_senders.observed_via is 'The operation.';

create index sms_conversations_last_message on warehouse.sms_conversations (last_message_at) where deleted_at is null;

create function ops.erase_rules(erased text) returns table (place text, removed bigint) language plpgsql as $$
begin
  return query with gone as (delete from ops.rule_runs where number = erased returning 1)
    select 'ops.rule_runs', count(*) from gone;
  return query with gone as (delete from warehouse.blocked_senders where number = erased returning 1)
    select 'warehouse.blocked_senders', count(*) from gone;
  return query with gone as (
    delete from warehouse.sms_conversation_events e
    where not exists (select from warehouse.sms_conversations c where c.conversation_id = e.conversation_id) returning 1)
    select 'warehouse.sms_conversation_events', count(*) from gone;
end $$;
comment on function ops.erase_rules is 'Takes a person out of what rules did, once the conversations are gone.';
