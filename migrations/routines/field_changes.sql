-- The hash covers content and key, so equal multisets of hashes mean that no row changed.
create or replace function warehouse.note_field_changes() returns trigger
language plpgsql as $$
declare
  compared text;
begin
  if not exists (select content_hash from new_rows except all select content_hash from old_rows) then return null; end if;
  compared := (select string_agg(format('(%1$L, to_jsonb(o.%1$I) #>> ''{}'', to_jsonb(n.%1$I) #>> ''{}'', o.%1$I is distinct from n.%1$I)', field), ', ')
               from unnest(tg_argv[2:]) field);
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
create or replace trigger note_changes after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('call', 'call_id', 'status', 'status_code', 'ended_at', 'duration_seconds', 'talk_seconds', 'transferred_count', 'is_abandoned', 'is_recorded', 'called_back_call_id', 'repeated_count');
create or replace trigger note_changes after update on warehouse.sms_lines referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('line', 'line', 'name', 'is_bulk_enabled', 'is_unrestricted');
create or replace trigger note_changes after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('transcript', 'transcript_id', 'call_purpose', 'call_sentiment', 'csat_score', 'agent_performance_score', 'is_action_required', 'is_urgent_action_required');
create or replace trigger note_changes after update on warehouse.users referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('user', 'user_id', 'username', 'first_name', 'last_name', 'title', 'time_zone', 'extension');

-- A receipt can be missing in one answer and return in the next. It is recorded once, as first observed.
create or replace function warehouse.note_delivery_events() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into warehouse.sms_message_delivery_events (conversation_id, message_id, delivery_status, delivery_error, delivery_at)
    select conversation_id, message_id, delivery_status, delivery_error, delivery_at
    from new_rows where num_nonnulls(delivery_status, delivery_error, delivery_at) > 0;
  else
    insert into warehouse.sms_message_delivery_events (conversation_id, message_id, delivery_status, delivery_error, delivery_at)
    select n.conversation_id, n.message_id, n.delivery_status, n.delivery_error, n.delivery_at
    from new_rows n join old_rows o using (conversation_id, message_id)
    where n.content_hash <> o.content_hash
      and num_nonnulls(n.delivery_status, n.delivery_error, n.delivery_at) > 0
      and (n.delivery_status, n.delivery_error, n.delivery_at) is distinct from (o.delivery_status, o.delivery_error, o.delivery_at)
      and not exists (
        select from warehouse.sms_message_delivery_events e
        where e.conversation_id = n.conversation_id and e.message_id = n.message_id
          and (e.delivery_status, e.delivery_at) is not distinct from (n.delivery_status, n.delivery_at));
  end if;
  return null;
end $$;
comment on function warehouse.note_delivery_events is 'Records carrier receipts that were not observed before.';
create or replace trigger note_first_receipt after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function warehouse.note_delivery_events();
create or replace trigger note_receipt after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_delivery_events();

create or replace function warehouse.note_others_reads() returns trigger
language plpgsql as $$
begin
  update warehouse.sms_messages m set is_read_by_others = true
  from (select distinct conversation_id, message_id from new_rows) r
  where m.conversation_id = r.conversation_id and m.message_id = r.message_id and m.is_read = false and not m.is_read_by_others;
  return null;
end $$;
comment on function warehouse.note_others_reads is 'Marks messages as read by others that are unread to the credential''s user.';
create or replace trigger note_others_reads after insert on warehouse.sms_message_reads referencing new table as new_rows
  for each statement execute function warehouse.note_others_reads();
