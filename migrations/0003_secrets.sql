-- Links to audio and to files attached to texts. They don't expire, and whoever has one can play or fetch its content.
-- Pages play them through the server. RETENTION_DAYS deletes them.
create table secrets.links (
  kind text not null check (kind in ('recording', 'file')),
  owner text not null, -- Of a recording the id of the call, of a file conversation/message.
  part text not null, -- The recorded leg, or the position of the file in the text, from 1.
  link text not null, -- Sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.
  first_seen_at timestamptz not null default now(),
  primary key (kind, owner, part)
);

-- Bodies of deliveries in which this release found no reference, as they arrived. A later release may read them. Kept for EVENT_RETENTION_DAYS.
create table secrets.bodies (
  delivery_id bigint primary key,
  bytes bytea not null,
  received_at timestamptz not null default clock_timestamp()
);

-- Erasure

-- The salt of the hashes in ops.erasures. Whoever has it can test which numbers were erased.
create table secrets.erasure_salt (
  is_only boolean default true primary key check (is_only),
  salt text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
insert into secrets.erasure_salt default values;
