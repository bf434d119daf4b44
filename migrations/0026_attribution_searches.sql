-- A search by extension or user does not tell what part it had in the call.
alter table warehouse.call_attributions drop constraint call_attributions_role_check;
alter table warehouse.call_attributions add constraint call_attributions_role_check
  check (role in ('answered', 'rang', 'placed', 'entered', 'transferred_to', 'touched')) not valid;
comment on column warehouse.call_attributions.role is 'answered, rang (and did not answer), placed, entered, transferred_to; touched: it took part, and only a filtered search says so, which does not tell how.';
create index call_attributions_touched on warehouse.call_attributions (started_at) where role = 'touched';

comment on column warehouse.calls.queue_wait_seconds is 'Time in a queue alone: always NULL, since the service reports none. wait_seconds holds ringing, menus and queue together.';

create table ops.attribution_windows (
  kind text not null check (kind in ('queue', 'huntgroup', 'user', 'extension')),
  from_at timestamptz not null,
  to_at timestamptz not null,
  due_at timestamptz not null default now(),
  claimed_until timestamptz not null default '-infinity',
  attempts integer not null default 0,
  reached text,
  searched_count integer not null default 0,
  attributed_count integer not null default 0,
  finished_at timestamptz,
  last_error text,
  primary key (kind, from_at, to_at)
);
create index attribution_windows_waiting on ops.attribution_windows (from_at) where finished_at is null;
comment on table ops.attribution_windows is 'Spans of call history, proven complete, that are searched once for each queue, huntgroup, user or extension that is known: whatever a search lists was touched by it.';
comment on column ops.attribution_windows.kind is 'What is searched by: queue and huntgroup by the hour, user and extension by the day, UTC. Older history by the day.';
comment on column ops.attribution_windows.from_at is 'Begin of the span.';
comment on column ops.attribution_windows.to_at is 'End of the span, exclusive.';
comment on column ops.attribution_windows.due_at is 'When it is searched, or goes on, at the earliest.';
comment on column ops.attribution_windows.claimed_until is 'Until when the process that searches it has it for itself.';
comment on column ops.attribution_windows.attempts is 'Failures in a row.';
comment on column ops.attribution_windows.reached is 'The last one that was searched by, in the order of their names; NULL = none yet.';
comment on column ops.attribution_windows.searched_count is 'Requests so far.';
comment on column ops.attribution_windows.attributed_count is 'Attributions that nothing else had told.';
comment on column ops.attribution_windows.finished_at is 'When the last one was searched by.';
comment on column ops.attribution_windows.last_error is 'Why it could not go on, or what the service refused.';

create table ops.attribution_parking (
  kind text primary key,
  parked_until timestamptz not null,
  times_parked integer not null default 1,
  reason text not null
);
comment on table ops.attribution_parking is 'Searches that the service refuses, or whose filter it does not heed: they wait, and nothing else does.';
comment on column ops.attribution_parking.kind is 'What is searched by.';
comment on column ops.attribution_parking.parked_until is 'Until when; then one is tried again.';
comment on column ops.attribution_parking.times_parked is 'How often in a row.';
comment on column ops.attribution_parking.reason is 'What the service said.';
