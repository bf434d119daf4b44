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

comment on table ops.coverage is 'What was compared with the service, hour by hour: how many it reports, and how many of them are held.';
comment on column ops.coverage.stream is 'What was compared: calls.';
comment on column ops.coverage.from_at is 'Begin of the hour, UTC.';
comment on column ops.coverage.to_at is 'End of the hour, exclusive.';
comment on column ops.coverage.state is 'waiting: never compared. proven: the service listed exactly its own total, and all of it is held. differs: the last comparison left a difference. failed: it could not be made.';
comment on column ops.coverage.reported_count is 'Distinct calls that the service listed for the hour.';
comment on column ops.coverage.held_count is 'Calls of the hour that the mirror holds and that are not deleted.';
comment on column ops.coverage.unannounced_count is 'Of the reported, those that no webhook had announced; NULL where webhooks were not expected yet.';
comment on column ops.coverage.is_watched is 'Whether webhooks were to announce what happened in the hour; false for history.';
comment on column ops.coverage.due_at is 'When the hour is compared next: minutes after its end, then again for late changes; infinity when that is over.';
comment on column ops.coverage.claimed_until is 'Until when the process that compares it has the hour for itself.';
comment on column ops.coverage.attempts is 'Comparisons in a row that proved nothing.';
comment on column ops.coverage.checked_at is 'When the last comparison began.';
comment on column ops.coverage.proven_at is 'When the newest comparison began that proved it.';
comment on column ops.coverage.last_error is 'Why the last comparison proved nothing.';

create table ops.backfills (
  backfill_id bigint generated always as identity primary key,
  stream text not null,
  asked_from timestamptz not null,
  asked_to timestamptz not null,
  has_artefacts boolean not null,
  done_until timestamptz not null,
  mirrored_count bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create unique index backfills_unfinished on ops.backfills (stream, asked_from, asked_to, has_artefacts) where finished_at is null;
comment on table ops.backfills is 'History that was asked for with `trunkline backfill`. An unfinished one goes on where it stopped.';
comment on column ops.backfills.backfill_id is 'Order of asking.';
comment on column ops.backfills.stream is 'What is filled: calls.';
comment on column ops.backfills.asked_from is 'Begin of the range.';
comment on column ops.backfills.asked_to is 'End of the range, exclusive; in the past, so that it stands still.';
comment on column ops.backfills.has_artefacts is 'Whether legs, recordings and transcripts are read too.';
comment on column ops.backfills.done_until is 'Everything before it is mirrored and compared.';
comment on column ops.backfills.mirrored_count is 'Calls mirrored so far.';
comment on column ops.backfills.started_at is 'When it was asked for.';
comment on column ops.backfills.finished_at is 'When it was through.';

-- History waits behind what happens now.
alter table ops.sync_targets add column priority smallint not null default 0;
comment on column ops.sync_targets.priority is '0: something happened. 1: history that is filled in, read behind everything else.';
drop index ops.sync_targets_due;
create index sync_targets_due on ops.sync_targets (priority, due_at) where dirty_version > clean_version;
