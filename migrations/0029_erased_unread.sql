-- What was erased unread still counts as unread at the service, and would look like lost texts for ever.
create table ops.erased_unread (
  line text primary key,
  unread_count integer not null check (unread_count >= 0),
  changed_at timestamptz not null default now()
);
comment on table ops.erased_unread is 'Unread texts of people who were erased, by line: the service counts them, and nobody is told whose they are.';
comment on column ops.erased_unread.line is 'The line.';
comment on column ops.erased_unread.unread_count is 'At most so many; fewer once the service counts fewer.';
comment on column ops.erased_unread.changed_at is 'When that last changed.';

comment on column warehouse.sms_unread_snapshots.held_count is 'Unread inbound texts that are held, or were withheld because their sender was erased.';
