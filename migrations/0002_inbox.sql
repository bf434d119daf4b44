create table ops.deliveries (
  delivery_id bigint generated always as identity primary key,
  received_at timestamptz not null default clock_timestamp(),
  event_type text,
  claimed_type text,
  content_type text,
  user_agent text,
  body text not null,
  body_hash text not null,
  targets text[] not null,
  is_recognized boolean not null
);
create index deliveries_received_at on ops.deliveries using brin (received_at);
create index deliveries_unrecognized on ops.deliveries (delivery_id) where not is_recognized;

comment on table ops.deliveries is 'The inbox: every webhook request that was answered 2xx, committed before the answer.';
comment on column ops.deliveries.delivery_id is 'Order of arrival.';
comment on column ops.deliveries.received_at is 'When the request was stored.';
comment on column ops.deliveries.event_type is 'Event type of the address that the request came to; NULL when that address names none.';
comment on column ops.deliveries.claimed_type is 'Event type that the body claims, kept beside the address''s own.';
comment on column ops.deliveries.content_type is 'Content-Type header as sent.';
comment on column ops.deliveries.user_agent is 'User-Agent header as sent.';
comment on column ops.deliveries.body is 'The body with secrets and URLs redacted.';
comment on column ops.deliveries.body_hash is 'Fingerprint of type and canonical body: equal for a repeated delivery.';
comment on column ops.deliveries.targets is 'What the delivery points at, each as "kind key".';
comment on column ops.deliveries.is_recognized is 'False when nothing in the body could be understood; such a delivery is kept to be parsed again.';

create table ops.sync_targets (
  kind text not null,
  key text not null,
  dirty_version bigint not null default 1,
  claimed_version bigint not null default 0,
  clean_version bigint not null default 0,
  due_at timestamptz not null default now(),
  rung_at timestamptz not null default now(),
  read_at timestamptz,
  attempts integer not null default 0,
  misses integer not null default 0,
  state text not null default 'active' check (state in ('active', 'gone', 'forbidden', 'refused')),
  last_error text,
  primary key (kind, key)
) with (fillfactor = 70);
create index sync_targets_due on ops.sync_targets (due_at) where dirty_version > clean_version;
create index sync_targets_failed on ops.sync_targets (read_at) where last_error is not null;

comment on table ops.sync_targets is 'Every thing to read from the API, and whether the mirror is behind it: dirty_version > clean_version means a read is owed at due_at.';
comment on column ops.sync_targets.kind is 'What is read: thread, call, recordings, transcripts, users, lines.';
comment on column ops.sync_targets.key is 'Which one: line/number[/participants], a call id, or "all".';
comment on column ops.sync_targets.dirty_version is 'Raised by every hint, but for hints that find it owed a read that has not begun.';
comment on column ops.sync_targets.claimed_version is 'The dirty_version that the newest read began with.';
comment on column ops.sync_targets.clean_version is 'The dirty_version that the newest applied read began with.';
comment on column ops.sync_targets.due_at is 'Not to be read before.';
comment on column ops.sync_targets.rung_at is 'When the queue was last told about it; the sweep tells it again when that was too long ago.';
comment on column ops.sync_targets.read_at is 'When its newest read began.';
comment on column ops.sync_targets.attempts is 'Reads that failed in a row.';
comment on column ops.sync_targets.misses is 'Reads that did not find it, since one last did.';
comment on column ops.sync_targets.state is 'active, or how its last read settled: gone (three spaced 404), forbidden (403), refused (400).';
comment on column ops.sync_targets.last_error is 'Why the last read failed.';

create table ops.streams (
  kind text primary key,
  parked_until timestamptz not null,
  parked_at timestamptz not null default now(),
  times_parked integer not null default 1,
  reason text not null,
  missing_scope text
);
comment on table ops.streams is 'Kinds of target that wait because the credential may not read them. A stream that reads again is removed.';
comment on column ops.streams.kind is 'The kind of target.';
comment on column ops.streams.parked_until is 'When the next read of this kind is tried.';
comment on column ops.streams.parked_at is 'Since when it waits.';
comment on column ops.streams.times_parked is 'How often it was tried in vain since.';
comment on column ops.streams.reason is 'The service''s refusal.';
comment on column ops.streams.missing_scope is 'Scope to grant to the credential, where the service named it.';

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
comment on table ops.drift is 'Where answers of the API differ from its specification. Rows are kept all the same.';
comment on column ops.drift.operation is 'The operation that answered.';
comment on column ops.drift.path is 'Where in the answer.';
comment on column ops.drift.what is 'unknown_key, unknown_value, null, wrong_type, missing_key or sibling_key.';
comment on column ops.drift.sample is 'The type or the word that came, never content.';
comment on column ops.drift.seen_count is 'How many answers showed it.';
comment on column ops.drift.first_seen_at is 'First time.';
comment on column ops.drift.last_seen_at is 'Latest time.';
