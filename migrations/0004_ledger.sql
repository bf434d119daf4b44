create table ops.sends (
  send_id uuid default gen_random_uuid() primary key,
  rule text not null,
  rule_version text,
  line text not null,
  number text not null,
  trigger_kind text not null check (trigger_kind in ('message', 'call')),
  trigger_id text not null,
  trigger_at timestamptz not null,
  mode text not null check (mode in ('dry-run', 'live')),
  body text not null,
  limits jsonb not null default '{}',
  state text not null default 'PLANNED' check (state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN', 'DENIED', 'EXPIRED', 'NEEDS_HUMAN')),
  reason text,
  fence integer not null default 0,
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  rung_at timestamptz not null default '-infinity',
  expires_at timestamptz not null,
  baseline_message_ids bigint[],
  looks_count integer not null default 0,
  looked_at timestamptz,
  message_type text,
  units integer,
  reserved_micros bigint not null default 0,
  settled_micros bigint,
  budget_date date,
  message_id bigint,
  is_reconciled boolean not null default false,
  linked_at timestamptz,
  planned_at timestamptz not null default now(),
  reserved_at timestamptz,
  dispatched_at timestamptz,
  unknown_at timestamptz,
  settled_at timestamptz,
  constraint sends_key unique (rule, line, number, trigger_kind, trigger_id)
) with (fillfactor = 70);
create unique index sends_message on ops.sends (line, message_id) where message_id is not null;
create index sends_due on ops.sends (due_at) where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'UNKNOWN');
create index sends_unlinked on ops.sends (settled_at) where state = 'SENT' and linked_at is null;
create index sends_unknown on ops.sends (unknown_at) where unknown_at is not null;
create index sends_number on ops.sends (number, planned_at);
create index sends_planned on ops.sends (planned_at);
create index sends_answerable on ops.sends (line, number, dispatched_at) include (planned_at) where state = 'SENT';
create index sends_charged on ops.sends (coalesce(dispatched_at, reserved_at)) where reserved_at is not null;
create index sends_unreleased on ops.sends (line, number) where state = 'DENIED' and reserved_micros > 0;
create unique index sends_open on ops.sends (line, number, mode) where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED') or state = 'UNKNOWN' and looks_count < 3;
create index sends_reserved on ops.sends (budget_date) where reserved_micros > 0 and state not in ('SENT', 'NEEDS_HUMAN');
comment on table ops.sends is 'The send ledger: one row for every text that a rule wanted to send, and what became of it. At most one request leaves per row.';
comment on column ops.sends.send_id is 'The send.';
comment on column ops.sends.rule is 'Name of the rule that planned it.';
comment on column ops.sends.rule_version is 'Version of the rule then.';
comment on column ops.sends.line is 'The account''s line that it goes out from.';
comment on column ops.sends.number is 'The one recipient, normalised.';
comment on column ops.sends.trigger_kind is 'What the rule answered: message or call.';
comment on column ops.sends.trigger_id is 'Id of that message or call. Together with rule, line and number it stands once.';
comment on column ops.sends.trigger_at is 'When that happened, by the service''s clock.';
comment on column ops.sends.mode is 'live, or dry-run: everything but the effect. At most one send of a thread is under way in each; one whose outcome is unknown counts for its first three scheduled reads.';
comment on column ops.sends.body is 'The text; empty once the recipient was erased.';
comment on column ops.sends.limits is 'Limits that the rule set: they only tighten the account''s.';
comment on column ops.sends.state is 'PLANNED, HELD, RESERVED, DISPATCHED and UNKNOWN are under way; NEEDS_HUMAN waits for the operator; the others are final.';
comment on column ops.sends.reason is 'Why it is in this state, as a word and sometimes a detail: gate:…, dry_run, or what the service said. Of HELD what it waits for: gate:quiet_hours, gate:budget_… (other sends under way have reserved the rest), gate:newer_inbound (rules have not been tried on a newer text yet).';
comment on column ops.sends.fence is 'Rises with each reservation: whoever holds an older one changes nothing.';
comment on column ops.sends.tries is 'Requests that left and provably had no effect; refusals for too many requests (429) are not counted.';
comment on column ops.sends.due_at is 'When it is to be looked at next; of RESERVED and DISPATCHED the end of the lease.';
comment on column ops.sends.rung_at is 'When a job was last enqueued for it.';
comment on column ops.sends.expires_at is 'After this it is too old to be sent.';
comment on column ops.sends.baseline_message_ids is 'Messages of the thread that were there before it was dispatched: none of them can be this one.';
comment on column ops.sends.looks_count is 'Scheduled reads that looked for a send in state UNKNOWN.';
comment on column ops.sends.looked_at is 'When the thread was last looked through for an UNKNOWN send.';
comment on column ops.sends.message_type is 'sms or mms, as billed.';
comment on column ops.sends.units is 'Segments: as billed, before that the worst case.';
comment on column ops.sends.reserved_micros is 'Micro-dollars set aside for it: the worst case, kept while it is not known whether it was sent. Of a superseded send, until a worker gives it back.';
comment on column ops.sends.settled_micros is 'Micro-dollars that the service charged. NULL = not reported, also of reconciled sends: their budget keeps the worst case.';
comment on column ops.sends.budget_date is 'Day (UTC) whose budgets it counts in.';
comment on column ops.sends.message_id is 'The message that it became; NULL when the gateway returned no id and none was matched.';
comment on column ops.sends.is_reconciled is 'Its answer was lost, and it was found in the thread.';
comment on column ops.sends.linked_at is 'When warehouse.sms_messages.send_id was set.';
comment on column ops.sends.planned_at is 'When the rule planned it.';
comment on column ops.sends.reserved_at is 'When its budget was last reserved.';
comment on column ops.sends.dispatched_at is 'When it was committed that a request may leave.';
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
  actor text not null default 'worker' check (actor in ('rule', 'worker', 'operator'))
);
create index send_events_send on ops.send_events (send_id, event_id);
comment on table ops.send_events is 'Every change of state of every send, appended only.';
comment on column ops.send_events.event_id is 'Order of happening.';
comment on column ops.send_events.send_id is 'The send.';
comment on column ops.send_events.observed_at is 'When it happened.';
comment on column ops.send_events.from_state is 'State before; NULL at the beginning.';
comment on column ops.send_events.to_state is 'State after.';
comment on column ops.send_events.fence is 'The fence then.';
comment on column ops.send_events.reason is 'Why; holds no number and no text.';
comment on column ops.send_events.actor is 'rule, worker or operator.';

create table ops.send_budgets (
  scope text not null,
  budget_date date not null,
  sends_count integer not null default 0 check (sends_count >= 0),
  reserved_micros bigint not null default 0 check (reserved_micros >= 0),
  spent_micros bigint not null default 0 check (spent_micros >= 0),
  primary key (scope, budget_date)
);
comment on table ops.send_budgets is 'What automatic sends have used up of their budgets, per day (UTC).';
comment on column ops.send_budgets.scope is 'account, line/… or thread/line/number.';
comment on column ops.send_budgets.budget_date is 'The day, UTC.';
comment on column ops.send_budgets.sends_count is 'Sends that went out or may have.';
comment on column ops.send_budgets.reserved_micros is 'Micro-dollars of sends that are under way or unknown.';
comment on column ops.send_budgets.spent_micros is 'Micro-dollars that the service charged; of reconciled sends the worst case.';

create table ops.send_control (
  is_only boolean default true primary key check (is_only),
  is_paused boolean not null default false,
  pause_reason text,
  paused_by text check (paused_by in ('operator', 'ledger')),
  changed_at timestamptz not null default now(),
  highest_unit_micros bigint not null default 0,
  sender_id bigint
);
comment on table ops.send_control is 'The kill switch of automatic sends: read, and locked, by every transaction that lets one out.';
comment on column ops.send_control.is_only is 'There is one row.';
comment on column ops.send_control.is_paused is 'While true, nothing leaves.';
comment on column ops.send_control.pause_reason is 'Why it is paused.';
comment on column ops.send_control.paused_by is 'operator, or ledger when three sends within ten minutes had an unknown outcome; a pause by the ledger ends when the outcome of all of them is known.';
comment on column ops.send_control.changed_at is 'When it was last paused or resumed.';
comment on column ops.send_control.highest_unit_micros is 'The highest price of a segment that the service ever charged: no reservation counts on less.';
comment on column ops.send_control.sender_id is 'The user in whose name sends go out, as the newest message that one became shows it; NULL = none, as with an API key.';
insert into ops.send_control default values;

create table ops.opt_outs (
  number text not null,
  opted_out_at timestamptz not null default now(),
  line text not null default '',
  primary key (number, line)
);
comment on table ops.opt_outs is 'Numbers that the service skipped as opted out. Opt-outs that were texted to us are read from the texts.';
comment on column ops.opt_outs.number is 'The number, normalised.';
comment on column ops.opt_outs.opted_out_at is 'When the service last said so; a later START on that line takes it back there.';
comment on column ops.opt_outs.line is 'The line that it was skipped on; empty = not known, and so each of them.';
