-- Every mirrored table ends with the same columns and explains them with the same words.
create procedure warehouse.add_provenance(mirrored regclass) language plpgsql as $$
begin
  execute format($sql$
    alter table %1$s
      add column content_hash text not null,
      add column source text not null,
      add column fetch_seq bigint not null,
      add column fetched_at timestamptz not null,
      add column first_seen_at timestamptz not null default now(),
      add column changed_at timestamptz not null default now(),
      add column deleted_at timestamptz,
      add column deleted_reason text;
    comment on column %1$s.content_hash is 'Hash of the mirrored values: equal means unchanged.';
    comment on column %1$s.source is 'The operation of the API that the row was read with.';
    comment on column %1$s.fetch_seq is 'Number of the read that wrote the row; an older read never replaces it.';
    comment on column %1$s.fetched_at is 'When that read began.';
    comment on column %1$s.first_seen_at is 'When the row was first mirrored.';
    comment on column %1$s.changed_at is 'When its content last changed.';
    comment on column %1$s.deleted_at is 'When a complete read no longer listed it; NULL while it exists.';
    comment on column %1$s.deleted_reason is 'The proof of the deletion.';
  $sql$, mirrored);
end $$;

create table warehouse.documents (
  entity text not null,
  entity_key text not null,
  body jsonb not null,
  fetch_seq bigint not null,
  fetched_at timestamptz not null,
  primary key (entity, entity_key)
);
comment on table warehouse.documents is 'Raw answers, kept where they say more than the columns do: always for one call with its legs, else when an answer holds keys that have no column. URLs are redacted.';
comment on column warehouse.documents.entity is 'The kind of thing: call, message, recording, transcript, user, line.';
comment on column warehouse.documents.entity_key is 'Its key, as text.';
comment on column warehouse.documents.body is 'The answer as it came, URLs redacted.';
comment on column warehouse.documents.fetch_seq is 'Number of the read that wrote it.';
comment on column warehouse.documents.fetched_at is 'When that read began.';

create table warehouse.field_changes (
  change_id bigint generated always as identity primary key,
  entity text not null,
  entity_key text not null,
  field text not null,
  old_value text,
  new_value text,
  source text not null,
  observed_at timestamptz not null default now()
);
create index field_changes_of on warehouse.field_changes (entity, entity_key, observed_at);
comment on table warehouse.field_changes is 'Fields that the service changed after the row was first mirrored.';
comment on column warehouse.field_changes.change_id is 'Order of observation.';
comment on column warehouse.field_changes.entity is 'call, transcript, user or line.';
comment on column warehouse.field_changes.entity_key is 'Its key, as text.';
comment on column warehouse.field_changes.field is 'The column that changed.';
comment on column warehouse.field_changes.old_value is 'Value before, as text; NULL = not reported.';
comment on column warehouse.field_changes.new_value is 'Value after, as text; NULL = no longer reported.';
comment on column warehouse.field_changes.source is 'The operation that showed the change.';
comment on column warehouse.field_changes.observed_at is 'When the change was mirrored, not when it happened.';

-- Arguments: entity, key column, then the watched columns. Each is compared on its own: a row turned into JSON once per
-- column made an update ten times as long.
create function warehouse.note_field_changes() returns trigger language plpgsql as $$
declare
  compared text := (select string_agg(format('(%1$L, to_jsonb(o.%1$I) #>> ''{}'', to_jsonb(n.%1$I) #>> ''{}'', o.%1$I is distinct from n.%1$I)', field), ', ')
                    from unnest(tg_argv[2:]) field);
begin
  execute format($sql$
    insert into warehouse.field_changes (entity, entity_key, field, old_value, new_value, source)
    select %1$L, n.%2$I::text, c.field, c.old_value, c.new_value, n.source
    from new_rows n join old_rows o using (%2$I)
      cross join lateral (values %3$s) as c (field, old_value, new_value, is_changed)
    where n.content_hash <> o.content_hash and c.is_changed
  $sql$, tg_argv[0], tg_argv[1], compared);
  return null;
end $$;
comment on function warehouse.note_field_changes is 'Appends to warehouse.field_changes what an update changed.';
