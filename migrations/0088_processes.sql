-- A row stood for a receiver's address; it stands for a process now, so that what only a worker knows (its RULES_MODE, whether
-- the service answers it) is visible to all.
alter table ops.receivers rename to processes;
alter table ops.processes add column process_id text;
update ops.processes set process_id = address_hash;
alter table ops.processes drop constraint receivers_pkey;
alter table ops.processes add primary key (process_id);
alter table ops.processes
  alter column address_hash drop not null,
  alter column looked_at drop not null,
  alter column looked_at drop default,
  add column role text,
  add column started_at timestamptz,
  add column seen_at timestamptz,
  add column connections integer,
  add column rules_mode text check (rules_mode in ('off', 'dry-run', 'live')),
  add column api_answered_at timestamptz,
  add column api_waiting_from timestamptz,
  add column api_waiting_operation text;
comment on table ops.processes is 'The processes that run, as each last reported itself, and the receivers that looked after the webhook subscriptions lately.';
comment on column ops.processes.process_id is 'Random for each process; the address_hash for a receiver that reports nothing else.';
comment on column ops.processes.address_hash is 'Of a receiver: SHA-256 of the address at which it wants the subscriptions, which holds WEBHOOK_SECRET.';
comment on column ops.processes.looked_at is 'Of a receiver: when it last looked after the subscriptions.';
comment on column ops.processes.role is 'web or worker; `start`, which is both, reports itself as worker.';
comment on column ops.processes.started_at is 'When it began to report itself.';
comment on column ops.processes.seen_at is 'When it last reported itself, every two seconds while it runs; a process that ends removes its row.';
comment on column ops.processes.connections is 'How many connections to Postgres it opens at most.';
comment on column ops.processes.rules_mode is 'RULES_MODE of a worker.';
comment on column ops.processes.api_answered_at is 'When the service last answered a request of this process, with whatever status.';
comment on column ops.processes.api_waiting_from is 'When the oldest request began that the service has not answered; NULL while nothing waits.';
comment on column ops.processes.api_waiting_operation is 'The operation of that request.';
