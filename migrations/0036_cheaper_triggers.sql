-- Statements that mirror many reads fire these, and most reads change nothing. An update that changes nothing ends at once, and
-- where the rows before and after are compared, the plan is made once a session: without nested loops, since one that was
-- made for a single row would compare each of five hundred with each.

-- The hash stands for the content and the key, so equal bags of hashes mean that no row changed.
create or replace function warehouse.note_field_changes() returns trigger language plpgsql as $$
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

create or replace function ops.mark_calls() returns trigger language plpgsql set enable_nestloop = off as $$
begin
  if tg_op = 'INSERT' then
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(started_at) from new_rows where started_at is not null;
  elsif tg_op = 'DELETE' then
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(started_at) from old_rows where started_at is not null;
  else
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
          o.is_internal, o.caller_type, o.caller_number, o.called_type, o.called_number, o.deleted_at, o.legs_fetched_at is null);
  end if;
  return null;
end $$;

alter function ops.note_calls() set enable_nestloop = off;

create or replace function ops.mark_texts() returns trigger language plpgsql set enable_nestloop = off as $$
begin
  if tg_op = 'INSERT' then
    insert into ops.rollup_markers (kind, bucket_at, conversation_id)
    select distinct 'texts', ops.quarter_of(sent_at), null::bigint from new_rows where sent_at is not null
    union all
    select distinct 'thread', null::timestamptz, conversation_id from new_rows;
  elsif tg_op = 'DELETE' then
    insert into ops.rollup_markers (kind, bucket_at, conversation_id)
    select distinct 'texts', ops.quarter_of(sent_at), null::bigint from old_rows where sent_at is not null
    union all
    select distinct 'thread', null::timestamptz, conversation_id from old_rows;
  else
    with changed as (
      select conversation_id, v.sent_at,
        (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at)
          is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at) as is_turned
      from new_rows n join old_rows o using (conversation_id, message_id)
        cross join lateral (values (n.sent_at), (o.sent_at)) v (sent_at)
      where (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at, n.media_count,
          n.delivery_status, n.delivery_error, n.line, n.number)
        is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at, o.media_count,
          o.delivery_status, o.delivery_error, o.line, o.number)
    )
    insert into ops.rollup_markers (kind, bucket_at, conversation_id)
    select distinct 'texts', ops.quarter_of(sent_at), null::bigint from changed where sent_at is not null
    union all
    select distinct 'thread', null::timestamptz, conversation_id from changed where is_turned;
  end if;
  return null;
end $$;

-- These look up other tables row by row, so they are planned each time that there is something to look up.
create or replace function ops.mark_replies() returns trigger language plpgsql as $$
declare
  changed text;
begin
  case tg_op
    when 'INSERT' then
      if not exists (select from new_rows where direction = 'in') then return null; end if;
      changed := 'select line, number, sent_at from new_rows where direction = ''in''';
    when 'DELETE' then
      changed := 'select line, number, sent_at from old_rows where direction = ''in''';
    else
      if not exists (select from new_rows) then return null; end if;
      changed := 'select v.line, v.number, v.sent_at from new_rows n join old_rows o using (conversation_id, message_id)
          cross join lateral (values (n.line, n.number, n.sent_at), (o.line, o.number, o.sent_at)) v (line, number, sent_at)
        where (n.direction, n.sent_at, n.deleted_at) is distinct from (o.direction, o.sent_at, o.deleted_at)';
  end case;
  execute format($sql$
    insert into ops.send_markers (planned_at)
    select s.planned_at from (%s) m join ops.sends s on s.line = m.line and s.number = m.number and s.state = 'SENT'
      and s.dispatched_at < m.sent_at and s.dispatched_at >= m.sent_at - interval '24 hours'
  $sql$, changed);
  return null;
end $$;

create or replace function ops.mark_transcripts() returns trigger language plpgsql as $$
declare
  changed text := case tg_op
    when 'INSERT' then 'select call_id from new_rows'
    when 'DELETE' then 'select call_id from old_rows'
    else 'select v.call_id from new_rows n join old_rows o using (transcript_id) cross join lateral (values (n.call_id), (o.call_id)) v (call_id)
          where n.content_hash <> o.content_hash or (n.deleted_at, n.leg_unique_id) is distinct from (o.deleted_at, o.leg_unique_id)'
  end;
begin
  if tg_op = 'UPDATE' then
    if not exists (select from new_rows) then return null; end if;
  end if;
  execute format($sql$
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(c.started_at) from warehouse.calls c
    where c.call_id in (%s) and c.started_at is not null
  $sql$, changed);
  return null;
end $$;
