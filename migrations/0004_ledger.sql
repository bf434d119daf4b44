-- The send ledger: one row for every text that a rule wants to send, with its state. At most one request is sent per row.
create table ops.sends (
  send_id uuid default gen_random_uuid() primary key,
  rule text not null,
  rule_version text,
  line text not null,
  number text not null, -- The only recipient, normalised.
  trigger_kind text not null check (trigger_kind in ('message', 'call')),
  trigger_id text not null, -- A call is answered once in each mode, whatever the rule, unless the send was refused.
  trigger_at timestamptz not null,
  mode text not null check (mode in ('dry-run', 'live')), -- A thread has one open send in each.
  body text not null default '', -- Empty after an erasure, or after RETENTION_DAYS removed it.
  limits jsonb not null default '{}', -- Those of the rule. They can only be stricter than the account's.
  -- PLANNED, HELD, AWAITING_APPROVAL, RESERVED, DISPATCHED and UNKNOWN are open; NEEDS_HUMAN waits for manual review; the others are final.
  state text not null default 'PLANNED' check (state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED', 'DISPATCHED', 'SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN', 'DENIED', 'EXPIRED', 'NEEDS_HUMAN')),
  reason text, -- A code and sometimes a detail: gate:…, dry_run, or the service's answer.
  fence integer not null default 0, -- Raised by each reservation. A worker with an older value can't change the row.
  tries integer not null default 0, -- Requests that provably had no effect, without 429 answers.
  due_at timestamptz not null default now(), -- For RESERVED and DISPATCHED, the end of the lease.
  enqueued_at timestamptz not null default '-infinity', -- When a worker last took it up.
  expires_at timestamptz not null,
  baseline_message_ids bigint[], -- In the thread before the dispatch: none of them can be this text.
  search_count integer not null default 0, -- Scheduled reads that searched the thread while UNKNOWN.
  searched_at timestamptz, -- When the thread was last searched while UNKNOWN.
  message_type text, -- sms or mms, as billed.
  units integer, -- Segments as billed, or the worst case until then.
  -- Micro-dollars: the worst case, until it is known whether it was sent. A superseded send keeps them until released.
  reserved_micros bigint not null default 0,
  settled_micros bigint, -- Micro-dollars charged. NULL = not reported: it counts with its worst case.
  budget_date date, -- UTC.
  message_id bigint, -- The message that it became; NULL when the gateway returned no id and no message matched.
  is_reconciled boolean not null default false, -- Its answer was lost or a refusal, but its message was found in the thread.
  approved_at timestamptz, -- ops.send_events says by whom.
  linked_at timestamptz, -- When warehouse.sms_messages.send_id was set.
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

-- Every change of state of every send, appended only.
create table ops.send_events (
  event_id bigint generated always as identity primary key,
  send_id uuid not null,
  observed_at timestamptz not null default clock_timestamp(),
  from_state text, -- NULL for the first.
  to_state text not null,
  fence integer not null, -- The fence at that time.
  reason text, -- Contains no number and no text.
  actor text not null default 'worker' check (actor in ('rule', 'worker', 'operator')),
  decided_by text, -- Of an operator: as given with the command, or the name on the page.
  why text -- In the words of the operator, with masked numbers. An erasure removes it.
);
create index send_events_send on ops.send_events (send_id, event_id);

-- The budgets used by automatic sends, per day (UTC).
create table ops.send_budgets (
  scope text not null, -- account, or thread/line/number.
  budget_date date not null,
  sends_count integer not null default 0 check (sends_count >= 0), -- Texts that were sent, or may have been.
  reserved_micros bigint not null default 0 check (reserved_micros >= 0), -- Of open sends.
  spent_micros bigint not null default 0 check (spent_micros >= 0), -- Charged by the service; for reconciled sends, the worst case.
  primary key (scope, budget_date)
);

-- The kill switch of automatic sends, locked by every transaction that commits a dispatch.
create table ops.send_control (
  is_only boolean default true primary key check (is_only),
  is_paused boolean not null default false,
  pause_reason text, -- Why it was paused; or who resumed.
  -- ledger: three unknown outcomes within ten minutes; it ends its own pause. recovery: the database went back in time.
  paused_by text check (paused_by in ('operator', 'ledger', 'recovery')),
  changed_at timestamptz not null default now(),
  acts_after timestamptz not null default '-infinity', -- Rules act on nothing older: the database went back in time then.
  highest_unit_micros bigint not null default 0, -- Of a segment, within a day of the newest such answer: the minimum of every reservation.
  highest_unit_at timestamptz not null default '-infinity' -- When it was charged last. It counts for a day.
);
insert into ops.send_control default values;

-- Opt-outs known from other sources than mirrored texts: skips by the service, manual decisions, and verdicts on texts that an erasure
-- removed. Rows are only added.
create table ops.opt_outs (
  number text not null,
  -- When the service skipped the number, the person decided, or the text was sent. The latest manual decision counts.
  decided_at timestamptz not null default now(),
  line text not null default '', -- Empty = every line, as for manual decisions.
  -- opt_out: until a later START. unsure: until a person decides, or a later START. clear: a person allows texts, except after a keyword or
  -- a skip.
  decision text not null default 'opt_out' check (decision in ('opt_out', 'unsure', 'clear')),
  -- text: the verdict on one by a member of an erased group. person: a decision about unsure texts.
  source text not null default 'service' check (source in ('service', 'text', 'person')),
  decided_by text, -- The user of the command line, or the name on the page.
  primary key (number, line, decided_at, decision)
);

-- Everything that opts a number out or in: texts, and ops.opt_outs. In a group, the number is the sender's. A deleted text still counts for
-- the gates. A decision covers what was known at its time (seen_at).
create view ops.opt_out_changes as
select m.number, m.line, coalesce(m.sent_at, m.first_seen_at) as changed_at, m.first_seen_at as seen_at, m.opt_out_verdict as kind,
  'text' as source, m.deleted_at is not null as is_deleted, m.conversation_id, m.message_id
from warehouse.sms_messages m
where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in', 'unsure') and (m.from_number = m.number or not exists (
  select from warehouse.sms_conversations c where c.conversation_id = m.conversation_id and c.participants_key <> ''))
union all
-- A group is filed under the number of one member, whoever writes in it. A separate select, so that an index on either number serves.
select m.from_number, m.line, coalesce(m.sent_at, m.first_seen_at), m.first_seen_at, m.opt_out_verdict, 'text', m.deleted_at is not null,
  m.conversation_id, m.message_id
from warehouse.sms_messages m
where m.direction = 'in' and m.opt_out_verdict in ('opt_out', 'opt_in', 'unsure') and m.from_number <> m.number and exists (
  select from warehouse.sms_conversations c where c.conversation_id = m.conversation_id and c.participants_key <> '')
union all
select number, line, decided_at, decided_at, decision, source, false, null, null from ops.opt_outs;

-- Texts that may opt out and need a decision. Until then, no automatic text is sent to these numbers.
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
