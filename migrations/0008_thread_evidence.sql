create table ops.thread_candidates (
  line text not null,
  number text not null,
  evidence text not null check (evidence in ('call', 'contact', 'import', 'unread', 'gap')),
  evidence_at timestamptz not null default now(),
  probed_at timestamptz,
  primary key (line, number)
);
create index thread_candidates_open on ops.thread_candidates (line, evidence_at) where probed_at is null;
comment on table ops.thread_candidates is 'Pairs of a line and a number that may have a conversation: the API cannot list conversations, so they are found by asking.';
comment on column ops.thread_candidates.line is 'The account''s line.';
comment on column ops.thread_candidates.number is 'The other party.';
comment on column ops.thread_candidates.evidence is 'Why there may be one: a call, a contact of another line, an imported list, unread texts of the line, a gap in the webhooks.';
comment on column ops.thread_candidates.evidence_at is 'When the evidence was last seen.';
comment on column ops.thread_candidates.probed_at is 'When the pair was last asked for; ops.sync_targets shows how that went.';

create table warehouse.sms_unread_snapshots (
  line text not null,
  observed_at timestamptz not null,
  reported_count integer not null,
  held_count integer not null,
  state text not null check (state in ('even', 'behind', 'unexplained', 'ahead')),
  primary key (line, observed_at)
);
comment on table warehouse.sms_unread_snapshots is 'Unread texts of each line: what the service counts against what is held. More at the service is evidence of a lost text.';
comment on column warehouse.sms_unread_snapshots.line is 'The line.';
comment on column warehouse.sms_unread_snapshots.observed_at is 'When the service was asked.';
comment on column warehouse.sms_unread_snapshots.reported_count is 'Unread inbound texts that the service counts.';
comment on column warehouse.sms_unread_snapshots.held_count is 'Unread inbound texts that are held.';
comment on column warehouse.sms_unread_snapshots.state is 'even; behind: the service counts more, and the threads of the line are being looked through; unexplained: it still does after that, a possible gap; ahead: texts were read elsewhere, and are read again.';

alter table warehouse.sms_conversations
  add column complete_read_at timestamptz,
  add column is_reread_owed boolean not null default false;
comment on column warehouse.sms_conversations.complete_read_at is 'When a read last listed it to its end.';
comment on column warehouse.sms_conversations.is_reread_owed is 'Its next read lists it to its end: late receipts and deletions stand behind the newest messages.';
create index sms_conversations_settling on warehouse.sms_conversations (changed_at) where deleted_at is null;
create index sms_messages_unread on warehouse.sms_messages (line) where direction = 'in' and is_read = false and deleted_at is null;
