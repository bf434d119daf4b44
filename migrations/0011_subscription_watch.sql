create table ops.subscription_watch (
  event_type text primary key,
  subscription_id bigint,
  is_created_here boolean not null,
  state text not null check (state in ('in_place', 'to_create_by_hand')),
  in_place_at timestamptz,
  changed_at timestamptz not null default now(),
  last_fault text
);
comment on table ops.subscription_watch is 'The webhook subscriptions that the daemon lives on, as the last look found or left them.';
comment on column ops.subscription_watch.event_type is 'The event type.';
comment on column ops.subscription_watch.subscription_id is 'The subscription that delivers it.';
comment on column ops.subscription_watch.is_created_here is 'Whether the daemon created it: then its address is mended too.';
comment on column ops.subscription_watch.state is 'in_place, or to_create_by_hand where the service refused.';
comment on column ops.subscription_watch.in_place_at is 'When a look last found it, or left it, as it should be.';
comment on column ops.subscription_watch.changed_at is 'When it was last repaired or created.';
comment on column ops.subscription_watch.last_fault is 'What was wrong then: disabled, deleted, redirected, retyped or duplicated.';

create table ops.gaps (
  gap_id bigint generated always as identity primary key,
  stream text not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  reason text not null,
  noticed_at timestamptz not null default now(),
  next_try_at timestamptz not null default now(),
  filled_at timestamptz,
  last_error text
);
create index gaps_open on ops.gaps (stream, next_try_at) where filled_at is null;
comment on table ops.gaps is 'Times in which webhooks may have been lost, and when what happened in them was looked for.';
comment on column ops.gaps.gap_id is 'Order of noticing.';
comment on column ops.gaps.stream is 'calls or texts.';
comment on column ops.gaps.from_at is 'Begin, with some overlap.';
comment on column ops.gaps.to_at is 'End.';
comment on column ops.gaps.reason is 'Why nothing may have been delivered.';
comment on column ops.gaps.noticed_at is 'When the gap was noticed.';
comment on column ops.gaps.next_try_at is 'When it is looked into next.';
comment on column ops.gaps.filled_at is 'When it was looked into; NULL while it is open.';
comment on column ops.gaps.last_error is 'Why the last look failed.';
