-- A trial run takes no slot from what goes out: each mode has its own.
drop index ops.sends_open;
create unique index sends_open on ops.sends (line, number, mode)
  where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN');
comment on column ops.sends.mode is 'live, or dry-run: everything but the effect. At most one send of a thread is under way in each.';

-- Whoever plans must not wait for the budgets that workers hold, so a superseded reservation is given back by the workers.
create index sends_unreleased on ops.sends (line, number) where state = 'DENIED' and reserved_micros > 0;
comment on column ops.sends.reserved_micros is 'Micro-dollars set aside for it: the worst case, kept while it is not known whether it was sent. Of a superseded send, until a worker gives it back.';
