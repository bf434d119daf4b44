-- Whoever reads a target has it for itself, however it came to read it: by its bell, or because it was next.
alter table ops.sync_targets add column claimed_until timestamptz not null default '-infinity';
comment on column ops.sync_targets.claimed_until is 'Whoever reads it has it for itself until then, and renews that while the read lasts.';

-- Kinds of one queue are looked for without visiting the rows of the others.
drop index ops.sync_targets_due;
create index sync_targets_due on ops.sync_targets (priority, due_at, kind) where dirty_version > clean_version;
-- A claim moves read_at: while an index holds it, every claim writes to all of them.
drop index ops.sync_targets_failed;
create index sync_targets_failed on ops.sync_targets (kind) where last_error is not null;
