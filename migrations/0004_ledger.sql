create table ops.sends (
  send_id uuid default gen_random_uuid() primary key,
  rule text not null,
  rule_version text,
  rule_hash text,
  line text not null,
  number text not null,
  trigger_kind text not null check (trigger_kind in ('message', 'call')),
  trigger_id text not null,
  trigger_at timestamptz not null,
  mode text not null check (mode in ('dry-run', 'live')),
  body text not null default '',
  limits jsonb not null default '{}',
  state text not null default 'PLANNED' check (state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED', 'DISPATCHED', 'SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN', 'DENIED', 'EXPIRED', 'NEEDS_HUMAN')),
  reason text,
  fence integer not null default 0,
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  enqueued_at timestamptz not null default '-infinity',
  expires_at timestamptz not null,
  baseline_message_ids bigint[],
  search_count integer not null default 0,
  searched_at timestamptz,
  message_type text,
  units integer,
  reserved_micros bigint not null default 0,
  settled_micros bigint,
  budget_date date,
  message_id bigint,
  is_reconciled boolean not null default false,
  approved_at timestamptz,
  linked_at timestamptz,
  planned_at timestamptz not null default now(),
  reserved_at timestamptz,
  dispatched_at timestamptz,
  unknown_at timestamptz,
  settled_at timestamptz,
  constraint sends_key unique (rule, line, number, trigger_kind, trigger_id)
) with (fillfactor = 70);
create unique index sends_message on ops.sends (line, message_id) where message_id is not null;
create index sends_due on ops.sends (due_at) where state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED', 'DISPATCHED', 'UNKNOWN');
create index sends_unlinked on ops.sends (settled_at) where state = 'SENT' and linked_at is null;
create index sends_unknown on ops.sends (unknown_at) where unknown_at is not null;
create index sends_number on ops.sends (number, planned_at);
create index sends_planned on ops.sends (planned_at);
create index sends_answerable on ops.sends (line, number, dispatched_at) include (planned_at) where state = 'SENT';
create index sends_charged on ops.sends (coalesce(dispatched_at, reserved_at)) where reserved_at is not null;
create index sends_refuted on ops.sends (dispatched_at) where message_id is null and state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'NOT_SENT', 'REJECTED', 'DENIED', 'EXPIRED');
create index sends_unreleased on ops.sends (line, number) where state = 'DENIED' and reserved_micros > 0;
create unique index sends_open on ops.sends (line, number, mode) where state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED') or state = 'DISPATCHED' or state = 'UNKNOWN' and search_count < 3;
create unique index sends_call on ops.sends (trigger_id, mode) where trigger_kind = 'call' and state not in ('SKIPPED', 'REJECTED', 'DENIED', 'EXPIRED');
create index sends_reserved on ops.sends (budget_date) where reserved_micros > 0 and state not in ('SENT', 'NEEDS_HUMAN');
comment on table ops.sends is 'The send ledger: one row for every text that a rule wants to send, with its state. At most one request is sent per row.';
comment on column ops.sends.send_id is 'The send.';
comment on column ops.sends.rule is 'Name of the rule that planned it.';
comment on column ops.sends.rule_version is 'Version of the rules that its text comes from.';
comment on column ops.sends.rule_hash is 'Fingerprint of that rule. If the rule changes, a waiting text is rendered again.';
comment on column ops.sends.line is 'The account''s line that it is sent from.';
comment on column ops.sends.number is 'The only recipient, normalised.';
comment on column ops.sends.trigger_kind is 'What the rule replies to: message or call.';
comment on column ops.sends.trigger_id is 'Id of that message or call. Unique together with rule, line and number. A call is answered only once in each mode, whatever the rule; another rule may answer it only if the send was refused.';
comment on column ops.sends.trigger_at is 'When that happened, by the service''s clock.';
comment on column ops.sends.mode is 'live, or dry-run: recorded, not sent. A thread has at most one open send in each mode; one with an unknown outcome counts as open for its first three scheduled reads.';
comment on column ops.sends.body is 'The text. Empty after the recipient was erased, or after RETENTION_DAYS removed it.';
comment on column ops.sends.limits is 'Limits set by the rule. They can only be stricter than the account''s.';
comment on column ops.sends.state is 'PLANNED, HELD, AWAITING_APPROVAL, RESERVED, DISPATCHED and UNKNOWN are open; NEEDS_HUMAN waits for manual review; the others are final.';
comment on column ops.sends.reason is 'Why it is in this state, as a code and sometimes a detail: gate:…, dry_run, or the service''s answer. For HELD: gate:quiet_hours, gate:budget_… (other open sends have reserved the rest), gate:newer_inbound (rules have not evaluated a newer text yet), gate:earlier_steps (other steps on the trigger come first).';
comment on column ops.sends.fence is 'Raised by each reservation. A worker with an older value cannot change the row.';
comment on column ops.sends.tries is 'Requests that provably had no effect; 429 answers are not counted.';
comment on column ops.sends.due_at is 'When it is processed next; for RESERVED and DISPATCHED, the end of the lease.';
comment on column ops.sends.enqueued_at is 'When a worker last took it up.';
comment on column ops.sends.expires_at is 'When it becomes too old to be sent.';
comment on column ops.sends.baseline_message_ids is 'Messages in the thread before the dispatch: none of them can be this text.';
comment on column ops.sends.search_count is 'Scheduled reads that searched the thread while the state was UNKNOWN.';
comment on column ops.sends.searched_at is 'When the thread was last searched for a send in state UNKNOWN.';
comment on column ops.sends.message_type is 'sms or mms, as billed.';
comment on column ops.sends.units is 'Segments: as billed, or the worst case until then.';
comment on column ops.sends.reserved_micros is 'Reserved micro-dollars: the worst case, until it is known whether it was sent. A superseded send keeps them until a worker releases them.';
comment on column ops.sends.settled_micros is 'Micro-dollars charged by the service. NULL = not reported, as for reconciled sends, which count with their worst case.';
comment on column ops.sends.budget_date is 'Day (UTC) whose budgets it counts in.';
comment on column ops.sends.message_id is 'The message it became; NULL when the gateway returned no id and no message matched.';
comment on column ops.sends.is_reconciled is 'Its answer was lost, or was a refusal, but its message was found in the thread.';
comment on column ops.sends.approved_at is 'When a person approved its text. ops.send_events says who.';
comment on column ops.sends.linked_at is 'When warehouse.sms_messages.send_id was set.';
comment on column ops.sends.planned_at is 'When the rule planned it.';
comment on column ops.sends.reserved_at is 'When its budget was last reserved.';
comment on column ops.sends.dispatched_at is 'When the permission to send its request was committed.';
comment on column ops.sends.unknown_at is 'When its outcome became unknown.';
comment on column ops.sends.settled_at is 'When it reached a final state, or NEEDS_HUMAN.';

create table ops.send_events (
  event_id bigint generated always as identity primary key,
  send_id uuid not null,
  observed_at timestamptz not null default clock_timestamp(),
  from_state text,
  to_state text not null,
  fence integer not null,
  reason text,
  actor text not null default 'worker' check (actor in ('rule', 'worker', 'operator')),
  decided_by text,
  why text
);
create index send_events_send on ops.send_events (send_id, event_id);
comment on table ops.send_events is 'Every change of state of every send, appended only.';
comment on column ops.send_events.event_id is 'Order of happening.';
comment on column ops.send_events.send_id is 'The send.';
comment on column ops.send_events.observed_at is 'When it happened.';
comment on column ops.send_events.from_state is 'State before; NULL for the first.';
comment on column ops.send_events.to_state is 'State after.';
comment on column ops.send_events.fence is 'The fence at that time.';
comment on column ops.send_events.reason is 'Why; contains no number and no text.';
comment on column ops.send_events.actor is 'rule, worker or operator.';
comment on column ops.send_events.decided_by is 'For an operator, who it was: as given with the command, or the user name on the page.';
comment on column ops.send_events.why is 'What the operator gave as the reason, with masked numbers. An erasure of the recipient removes it.';

create table ops.send_budgets (
  scope text not null,
  budget_date date not null,
  sends_count integer not null default 0 check (sends_count >= 0),
  reserved_micros bigint not null default 0 check (reserved_micros >= 0),
  spent_micros bigint not null default 0 check (spent_micros >= 0),
  primary key (scope, budget_date)
);
comment on table ops.send_budgets is 'The budgets used by automatic sends, per day (UTC).';
comment on column ops.send_budgets.scope is 'account, line/… or thread/line/number.';
comment on column ops.send_budgets.budget_date is 'The day, UTC.';
comment on column ops.send_budgets.sends_count is 'Texts that were sent, or may have been.';
comment on column ops.send_budgets.reserved_micros is 'Micro-dollars of open sends.';
comment on column ops.send_budgets.spent_micros is 'Micro-dollars charged by the service; for reconciled sends, the worst case.';

create table ops.send_control (
  is_only boolean default true primary key check (is_only),
  is_paused boolean not null default false,
  pause_reason text,
  paused_by text check (paused_by in ('operator', 'ledger', 'recovery')),
  changed_at timestamptz not null default now(),
  highest_unit_micros bigint not null default 0,
  highest_unit_at timestamptz not null default '-infinity',
  sender_id bigint
);
comment on table ops.send_control is 'The kill switch of automatic sends, locked by every transaction that commits a dispatch.';
comment on column ops.send_control.is_only is 'There is one row.';
comment on column ops.send_control.is_paused is 'While true, nothing is sent.';
comment on column ops.send_control.pause_reason is 'Why it is paused.';
comment on column ops.send_control.paused_by is 'operator; recovery, while the database recovers from having gone back; or ledger, after three sends within ten minutes had an unknown outcome. The ledger ends its own pause once fewer than three outcomes are unknown; the value stays, because those still count.';
comment on column ops.send_control.changed_at is 'When it was last paused or resumed.';
comment on column ops.send_control.highest_unit_micros is 'The highest price of a segment within a day of the newest such answer: the minimum of every reservation.';
comment on column ops.send_control.highest_unit_at is 'When it was charged last. It counts for a day.';
comment on column ops.send_control.sender_id is 'The user whom the service names as the author of sends, from the newest such message; NULL = none, as with an API key.';
insert into ops.send_control default values;

create table ops.opt_outs (
  number text not null,
  decided_at timestamptz not null default now(),
  line text not null default '',
  decision text not null default 'opt_out' check (decision in ('opt_out', 'unsure', 'clear')),
  source text not null default 'service' check (source in ('service', 'text', 'person')),
  decided_by text,
  primary key (number, line, decided_at, decision)
);
comment on table ops.opt_outs is 'Opt-outs known from other sources than mirrored texts: skips by the service, manual decisions, and verdicts on texts that an erasure removed. Rows are only added.';
comment on column ops.opt_outs.number is 'The number, normalised.';
comment on column ops.opt_outs.decided_at is 'When the service skipped the number, the person decided, or the text was sent. The latest manual decision counts.';
comment on column ops.opt_outs.line is 'The line that was skipped or received the text; empty = every line, as for manual decisions.';
comment on column ops.opt_outs.decision is 'opt_out: no automatic texts until a later START. unsure: none until a person decides, or a later START. clear: a person allows them again, except after a keyword or a skip.';
comment on column ops.opt_outs.source is 'service: it skipped a send as opted out. text: the verdict on a text by a member of an erased group. person: a decision about unsure texts.';
comment on column ops.opt_outs.decided_by is 'Who decided, if known: the command line, or the user name on the page of sends.';

create view ops.opt_out_changes as
select m.number, m.line, coalesce(m.sent_at, m.first_seen_at) as changed_at, m.first_seen_at as seen_at, m.opt_out_verdict as kind,
  'text' as source, m.deleted_at is not null as is_deleted, m.conversation_id, m.message_id
from warehouse.sms_messages m
where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in', 'unsure') and (m.from_number = m.number or not exists (
  select from warehouse.sms_conversations c where c.conversation_id = m.conversation_id and c.participants_key <> ''))
union all
-- A group goes by the number of one member, whoever speaks in it. Apart from the others, so that an index on either number serves.
select m.from_number, m.line, coalesce(m.sent_at, m.first_seen_at), m.first_seen_at, m.opt_out_verdict, 'text', m.deleted_at is not null,
  m.conversation_id, m.message_id
from warehouse.sms_messages m
where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in', 'unsure') and m.from_number <> m.number and exists (
  select from warehouse.sms_conversations c where c.conversation_id = m.conversation_id and c.participants_key <> '')
union all
select number, line, decided_at, decided_at, decision, source, false, null, null from ops.opt_outs;
comment on view ops.opt_out_changes is 'Everything that opts a number out or in: texts, and ops.opt_outs. Used by the gates, the list of waiting numbers, and the report.';
comment on column ops.opt_out_changes.number is 'The number; in a group, the sender of the text.';
comment on column ops.opt_out_changes.line is 'The line; empty = every line.';
comment on column ops.opt_out_changes.changed_at is 'When the text was sent, or the service or the person decided.';
comment on column ops.opt_out_changes.seen_at is 'When it first became known here. A manual decision covers what was known at its time.';
comment on column ops.opt_out_changes.kind is 'opt_out, opt_in, unsure or clear.';
comment on column ops.opt_out_changes.source is 'text, service or person.';
comment on column ops.opt_out_changes.is_deleted is 'The service has deleted the text since. It still counts for the gates.';
comment on column ops.opt_out_changes.conversation_id is 'Of the text.';
comment on column ops.opt_out_changes.message_id is 'Of the text.';

-- A line with a keyword or a skip in force needs no decision: it gets no automatic text anyway.
create view ops.opt_outs_waiting as
select u.number, u.line, u.changed_at, u.seen_at, u.conversation_id, u.message_id
from ops.opt_out_changes u
where u.kind = 'unsure'
  and not exists (select from ops.opt_outs d where d.number = u.number and d.source = 'person' and d.decided_at >= u.seen_at)
  and not exists (select from ops.opt_out_changes i
    where i.number = u.number and i.line = u.line and i.kind = 'opt_in' and i.changed_at > u.changed_at)
  and not exists (select from ops.opt_out_changes o
    where o.number = u.number and o.line = u.line and o.kind = 'opt_out' and not exists (select from ops.opt_out_changes i
      where i.number = u.number and i.line = u.line and i.kind = 'opt_in' and i.changed_at > o.changed_at));
comment on view ops.opt_outs_waiting is 'Texts that may opt out and need a decision. Until then, no automatic text is sent to these numbers.';
comment on column ops.opt_outs_waiting.number is 'The number; in a group, the sender of the text.';
comment on column ops.opt_outs_waiting.line is 'The line.';
comment on column ops.opt_outs_waiting.changed_at is 'When the text was sent.';
comment on column ops.opt_outs_waiting.seen_at is 'When it was first mirrored.';
comment on column ops.opt_outs_waiting.conversation_id is 'Of the text; NULL = an erasure removed it.';
comment on column ops.opt_outs_waiting.message_id is 'Of the text; NULL = an erasure removed it.';
