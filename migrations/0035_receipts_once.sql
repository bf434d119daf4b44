-- A receipt can be missing from one answer and come back with the next: it is kept as it was first observed, once.
create or replace function warehouse.note_delivery_events() returns trigger language plpgsql as $$
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
comment on function warehouse.note_delivery_events is 'Appends a carrier receipt whenever a message has one that was not observed before.';
