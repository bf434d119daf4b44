-- Two receivers that want the webhooks at different addresses must not pull them back and forth: whoever has them keeps
-- them while it looks after them.
create table ops.receivers (
  address_hash text primary key,
  looked_at timestamptz not null default now()
);
comment on table ops.receivers is 'The receivers that looked after the webhook subscriptions lately, by the address that each wants them at.';
comment on column ops.receivers.address_hash is 'SHA-256 of the address, which holds WEBHOOK_SECRET.';
comment on column ops.receivers.looked_at is 'When a receiver at this address last looked.';
