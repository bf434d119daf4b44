-- Append-only on purpose: a marker that is updated in place can be taken by a drain that does not see its facts yet.
create table ops.rollup_markers (
  marker_id bigint generated always as identity primary key,
  kind text not null check (kind in ('calls', 'texts', 'thread')),
  bucket_at timestamptz,
  conversation_id bigint,
  marked_at timestamptz not null default clock_timestamp(),
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);
comment on table ops.rollup_markers is 'Which rollups the facts have moved away from. Written with the facts, taken when the rollups are rebuilt.';
comment on column ops.rollup_markers.marker_id is 'Order of marking.';
comment on column ops.rollup_markers.kind is 'calls or texts: a quarter of an hour; thread: the turns of a conversation.';
comment on column ops.rollup_markers.bucket_at is 'Begin of the quarter of an hour, UTC. These divide every local day and hour.';
comment on column ops.rollup_markers.conversation_id is 'The conversation.';
comment on column ops.rollup_markers.marked_at is 'When the facts changed.';

create function ops.quarter_of(moment timestamptz) returns timestamptz language sql immutable parallel safe as $$
  select date_bin('15 minutes', moment, '2000-01-01 00:00:00+00')
$$;
comment on function ops.quarter_of is 'The quarter of an hour that an instant lies in.';

create function ops.mark_calls() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(started_at) from new_rows where started_at is not null;
  elsif tg_op = 'DELETE' then
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(started_at) from old_rows where started_at is not null;
  else
    -- Planned each time: a plan that was made for one row joins five hundred by comparing each with each.
    execute $sql$
      insert into ops.rollup_markers (kind, bucket_at)
      select distinct 'calls', ops.quarter_of(moment)
      from new_rows n join old_rows o using (call_id) cross join lateral (values (n.started_at), (o.started_at)) v (moment)
      where moment is not null and (n.content_hash <> o.content_hash or n.deleted_at is distinct from o.deleted_at
          or n.queue_wait_seconds is distinct from o.queue_wait_seconds or (n.legs_fetched_at is null) <> (o.legs_fetched_at is null))
        and (n.started_at, n.ended_at, n.direction, n.status, n.is_abandoned, n.duration_seconds, n.talk_seconds, n.queue_wait_seconds,
            n.transferred_count, n.is_recorded, n.called_back_call_id, n.repeated_count, n.external_number, n.account_number,
            n.is_internal, n.caller_type, n.caller_number, n.called_type, n.called_number, n.deleted_at, n.legs_fetched_at is null)
          is distinct from
          (o.started_at, o.ended_at, o.direction, o.status, o.is_abandoned, o.duration_seconds, o.talk_seconds, o.queue_wait_seconds,
            o.transferred_count, o.is_recorded, o.called_back_call_id, o.repeated_count, o.external_number, o.account_number,
            o.is_internal, o.caller_type, o.caller_number, o.called_type, o.called_number, o.deleted_at, o.legs_fetched_at is null)
    $sql$;
  end if;
  return null;
end $$;
comment on function ops.mark_calls is 'Marks the quarters of an hour of calls that changed in what the reports count.';
create trigger mark_inserts after insert on warehouse.calls referencing new table as new_rows
  for each statement execute function ops.mark_calls();
create trigger mark_updates after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_calls();
create trigger mark_deletes after delete on warehouse.calls referencing old table as old_rows
  for each statement execute function ops.mark_calls();

create function ops.mark_attributions() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into ops.rollup_markers (kind, bucket_at) select distinct 'calls', ops.quarter_of(started_at) from new_rows;
  end if;
  if tg_op <> 'INSERT' then
    insert into ops.rollup_markers (kind, bucket_at) select distinct 'calls', ops.quarter_of(started_at) from old_rows;
  end if;
  return null;
end $$;
comment on function ops.mark_attributions is 'Marks the quarters of an hour of attributions that were written; their writer writes only what differs.';
create trigger mark_inserts after insert on warehouse.call_attributions referencing new table as new_rows
  for each statement execute function ops.mark_attributions();
create trigger mark_updates after update on warehouse.call_attributions referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_attributions();
create trigger mark_deletes after delete on warehouse.call_attributions referencing old table as old_rows
  for each statement execute function ops.mark_attributions();

create function ops.mark_texts() returns trigger language plpgsql as $$
declare
  changed text := case tg_op
    when 'INSERT' then 'select conversation_id, sent_at, true as is_turned from new_rows'
    when 'DELETE' then 'select conversation_id, sent_at, true as is_turned from old_rows'
    else 'select n.conversation_id, v.sent_at,
            (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at)
              is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at) as is_turned
          from new_rows n join old_rows o using (conversation_id, message_id)
            cross join lateral (values (n.sent_at), (o.sent_at)) v (sent_at)
          where (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at, n.media_count,
              n.delivery_status, n.delivery_error, n.line, n.number)
            is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at, o.media_count,
              o.delivery_status, o.delivery_error, o.line, o.number)'
  end;
begin
  execute format($sql$
    with changed as (%s)
    insert into ops.rollup_markers (kind, bucket_at, conversation_id)
    select distinct 'texts', ops.quarter_of(sent_at), null::bigint from changed where sent_at is not null
    union all
    select distinct 'thread', null::timestamptz, conversation_id from changed where is_turned
  $sql$, changed);
  return null;
end $$;
comment on function ops.mark_texts is 'Marks the quarters of an hour and the conversations of messages that changed in what the reports count.';
create trigger mark_inserts after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.mark_texts();
create trigger mark_updates after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_texts();
create trigger mark_deletes after delete on warehouse.sms_messages referencing old table as old_rows
  for each statement execute function ops.mark_texts();

-- A transcript is counted on the day of its call, which may not be held yet: then the call marks it when it comes.
create function ops.mark_transcripts() returns trigger language plpgsql as $$
declare
  changed text := case tg_op
    when 'INSERT' then 'select call_id from new_rows'
    when 'DELETE' then 'select call_id from old_rows'
    else 'select v.call_id from new_rows n join old_rows o using (transcript_id) cross join lateral (values (n.call_id), (o.call_id)) v (call_id)
          where n.content_hash <> o.content_hash or (n.deleted_at, n.leg_unique_id) is distinct from (o.deleted_at, o.leg_unique_id)'
  end;
begin
  execute format($sql$
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(c.started_at) from warehouse.calls c
    where c.call_id in (%s) and c.started_at is not null
  $sql$, changed);
  return null;
end $$;
comment on function ops.mark_transcripts is 'Marks the quarters of an hour of the calls whose transcripts changed.';
create trigger mark_inserts after insert on warehouse.transcripts referencing new table as new_rows
  for each statement execute function ops.mark_transcripts();
create trigger mark_updates after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_transcripts();
create trigger mark_deletes after delete on warehouse.transcripts referencing old table as old_rows
  for each statement execute function ops.mark_transcripts();
