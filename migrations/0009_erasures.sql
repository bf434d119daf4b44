create table ops.erasures (
  erasure_id bigint generated always as identity primary key,
  number_hash text not null unique,
  erased_at timestamptz not null default now(),
  repeated_at timestamptz,
  removed jsonb not null default '{}'
);
comment on table ops.erasures is 'People who were erased with `trunkline erase`: what is read or delivered of them is kept out. The number itself is not kept.';
comment on column ops.erasures.erasure_id is 'Order of erasing.';
comment on column ops.erasures.number_hash is 'SHA-256 of the salt and the normalised number.';
comment on column ops.erasures.erased_at is 'When it was first asked for.';
comment on column ops.erasures.repeated_at is 'When it was last asked for again.';
comment on column ops.erasures.removed is 'Rows that were removed or blanked, by table.';

-- Numbers can be guessed one by one, so the salt is as much a secret as the links beside it.
create table secrets.erasure_salt (
  is_only boolean primary key default true check (is_only),
  salt text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
insert into secrets.erasure_salt default values;
comment on table secrets.erasure_salt is 'What the numbers in ops.erasures are hashed with. Whoever has it can try numbers.';
comment on column secrets.erasure_salt.is_only is 'There is one row.';
comment on column secrets.erasure_salt.salt is 'Random, made with the table.';

create function ops.erasure_hash(number text) returns text language sql stable as $$
  select encode(sha256(convert_to(salt || number, 'UTF8')), 'hex') from secrets.erasure_salt
$$;
comment on function ops.erasure_hash is 'The hash of a normalised number, as ops.erasures keeps it.';

create function ops.erased_among(numbers text[]) returns setof text language sql stable as $$
  select distinct n from unnest(numbers) n where exists (select from ops.erasures where number_hash = ops.erasure_hash(n))
$$;
comment on function ops.erased_among is 'Which of these normalised numbers were erased.';

create function ops.is_erased_thread(key text) returns boolean language sql stable as $$
  select exists (select from ops.erasures) and exists (select from ops.erased_among(regexp_split_to_array(key, '[/,]')))
$$;
comment on function ops.is_erased_thread is 'Whether somebody who was erased takes part in the thread of this key.';

-- A transaction that writes to the mirror holds this lock shared; an erasure takes it once, after its hash is committed,
-- and by that waits for the writers who may not have seen it. The look is a statement of its own, so it sees what was
-- committed while it waited.
create function ops.hold_erasures() returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('ops.erasures'));
  return exists (select from ops.erasures);
end $$;
comment on function ops.hold_erasures is 'Whether anybody was ever erased; no erasure begins before the transaction ends.';

alter table warehouse.calls add column is_erased boolean not null default false;
comment on column warehouse.calls.is_erased is 'Somebody who was erased took part: names, numbers, links and transcripts of the call are gone for good.';
create index calls_erased on warehouse.calls (call_id) where is_erased;

alter table ops.deliveries add column is_erased boolean not null default false;
comment on column ops.deliveries.is_erased is 'It told of somebody who was erased, so its body is gone.';
