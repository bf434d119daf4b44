-- Postgres up to 17 adds 1e10 to the cost of a nested loop that `enable_nestloop = off` cannot avoid, and with `jit = on`, its
-- default, it compiles a plan of that cost at each execution: 0.5 to 3 s for one changed row. Functions that keep the setting,
-- so that the two transition tables are joined by hash, therefore join nothing else: a value looked up in two forms is
-- unnested in the select list.

create or replace function ops.quarter_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select date_bin('15 minutes', moment, '2000-01-01 00:00:00+00')
$$;
comment on function ops.quarter_of is 'The start of the quarter hour of an instant.';

-- A queue or huntgroup without a number is counted by its name, which can change.
create or replace function ops.mark_calls() returns trigger
language plpgsql set enable_nestloop = off as $$
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
    from (
      select unnest(array[n.started_at, o.started_at]) as moment
      from new_rows n join old_rows o using (call_id)
      where (n.content_hash <> o.content_hash or n.deleted_at is distinct from o.deleted_at
          or n.legs_wait_seconds is distinct from o.legs_wait_seconds or (n.legs_fetched_at is null) <> (o.legs_fetched_at is null)
          or n.leg_count is distinct from o.leg_count)
        and (n.started_at, n.ended_at, n.direction, n.status, n.is_abandoned, n.duration_seconds, n.talk_seconds, n.legs_wait_seconds,
            n.transferred_count, n.is_recorded, n.called_back_call_id, n.repeated_count, n.external_number, n.account_number,
            n.is_internal, n.caller_type, n.caller_number, n.called_type, n.called_number,
            case when n.called_type in ('queue', 'huntgroup') then n.called_name end, n.deleted_at, n.legs_fetched_at is null, n.leg_count)
          is distinct from
          (o.started_at, o.ended_at, o.direction, o.status, o.is_abandoned, o.duration_seconds, o.talk_seconds, o.legs_wait_seconds,
            o.transferred_count, o.is_recorded, o.called_back_call_id, o.repeated_count, o.external_number, o.account_number,
            o.is_internal, o.caller_type, o.caller_number, o.called_type, o.called_number,
            case when o.called_type in ('queue', 'huntgroup') then o.called_name end, o.deleted_at, o.legs_fetched_at is null, o.leg_count)
    ) changed
    where moment is not null;
  end if;
  return null;
end $$;
comment on function ops.mark_calls is 'Marks the quarter hours of calls that changed in columns that reports use.';
create or replace trigger mark_deletes after delete on warehouse.calls referencing old table as old_rows
  for each statement execute function ops.mark_calls();
create or replace trigger mark_inserts after insert on warehouse.calls referencing new table as new_rows
  for each statement execute function ops.mark_calls();
create or replace trigger mark_updates after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_calls();

-- Legs that come or go change the leg_count of the call. Here: those that are told otherwise, which moves visits to queues.
create or replace function ops.mark_legs() returns trigger
language plpgsql as $$
begin
  if not exists (select from new_rows) then return null; end if;
  execute $sql$
    insert into ops.rollup_markers (kind, bucket_at)
    select distinct 'calls', ops.quarter_of(c.started_at) from warehouse.calls c
    where c.started_at is not null and c.call_id in (
      select n.call_id from new_rows n join old_rows o using (call_id, leg_key)
      where (n.ordinal, n.started_at, n.ended_at, n.duration_seconds, n.talk_seconds, n.status, n.caller_type, n.called_type, n.called_number,
          case when n.called_type in ('queue', 'huntgroup') then n.called_name end, n.is_recorded, n.deleted_at)
        is distinct from (o.ordinal, o.started_at, o.ended_at, o.duration_seconds, o.talk_seconds, o.status, o.caller_type, o.called_type,
          o.called_number, case when o.called_type in ('queue', 'huntgroup') then o.called_name end, o.is_recorded, o.deleted_at))
  $sql$;
  return null;
end $$;
comment on function ops.mark_legs is 'Marks the quarter hours of calls whose legs changed in columns that reports use.';
create or replace trigger mark_updates after update on warehouse.call_legs referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_legs();

create or replace function ops.mark_attributions() returns trigger
language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into ops.rollup_markers (kind, bucket_at) select distinct 'calls', ops.quarter_of(started_at) from new_rows;
  end if;
  if tg_op <> 'INSERT' then
    insert into ops.rollup_markers (kind, bucket_at) select distinct 'calls', ops.quarter_of(started_at) from old_rows;
  end if;
  return null;
end $$;
comment on function ops.mark_attributions is 'Marks the quarter hours of written attributions. Their writer writes only differences.';
create or replace trigger mark_deletes after delete on warehouse.call_attributions referencing old table as old_rows
  for each statement execute function ops.mark_attributions();
create or replace trigger mark_inserts after insert on warehouse.call_attributions referencing new table as new_rows
  for each statement execute function ops.mark_attributions();
create or replace trigger mark_updates after update on warehouse.call_attributions referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_attributions();

create or replace function ops.mark_texts() returns trigger
language plpgsql set enable_nestloop = off as $$
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
      select conversation_id, unnest(array[n.sent_at, o.sent_at]) as sent_at,
        (n.direction, n.sent_at, n.sent_by, n.send_id, n.is_scheduled, n.is_blocked, n.deleted_at)
          is distinct from (o.direction, o.sent_at, o.sent_by, o.send_id, o.is_scheduled, o.is_blocked, o.deleted_at) as is_turned
      from new_rows n join old_rows o using (conversation_id, message_id)
      where (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at, n.media_count,
          n.delivery_status, n.delivery_error, n.line, n.number, n.send_id)
        is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at, o.media_count,
          o.delivery_status, o.delivery_error, o.line, o.number, o.send_id)
    )
    insert into ops.rollup_markers (kind, bucket_at, conversation_id)
    select distinct 'texts', ops.quarter_of(sent_at), null::bigint from changed where sent_at is not null
    union all
    select distinct 'thread', null::timestamptz, conversation_id from changed where is_turned;
  end if;
  return null;
end $$;
comment on function ops.mark_texts is 'Marks the quarter hours and conversations of messages that changed in columns that reports use.';
create or replace trigger mark_deletes after delete on warehouse.sms_messages referencing old table as old_rows
  for each statement execute function ops.mark_texts();
create or replace trigger mark_inserts after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.mark_texts();
create or replace trigger mark_updates after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_texts();

-- A transcript counts on the day of its call. If the call is mirrored later, it sets the marker itself.
create or replace function ops.mark_transcripts() returns trigger
language plpgsql as $$
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
comment on function ops.mark_transcripts is 'Marks the quarter hours of calls whose transcripts changed.';
create or replace trigger mark_deletes after delete on warehouse.transcripts referencing old table as old_rows
  for each statement execute function ops.mark_transcripts();
create or replace trigger mark_inserts after insert on warehouse.transcripts referencing new table as new_rows
  for each statement execute function ops.mark_transcripts();
create or replace trigger mark_updates after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_transcripts();

create or replace function ops.mark_kpis() returns trigger
language plpgsql as $$
begin
  insert into ops.rollup_markers (kind, bucket_at)
  select distinct 'calls', ops.quarter_of(c.started_at)
  from changed_rows k join warehouse.transcripts t on t.transcript_id = k.transcript_id join warehouse.calls c on c.call_id = t.call_id
  where c.started_at is not null;
  return null;
end $$;
comment on function ops.mark_kpis is 'Marks the quarter hours of calls whose measures were written, which does not change the transcript''s row.';
create or replace trigger mark_deletes after delete on warehouse.transcript_kpis referencing old table as changed_rows
  for each statement execute function ops.mark_kpis();
create or replace trigger mark_inserts after insert on warehouse.transcript_kpis referencing new table as changed_rows
  for each statement execute function ops.mark_kpis();

-- `credit_endpoints` credits attributions. The rollups themselves look up the users of calls without legs and of transcripts, so
-- these are rolled up again. A period that starts now has no calls yet: only a new user's period reaches back.
create or replace function ops.mark_endpoints() returns trigger
language plpgsql as $$
declare
  since timestamptz := (select min(valid_from) from new_rows where kind in ('extension', 'dial_extension', 'sip_line'));
begin
  if since is null then return null; end if;
  insert into ops.rollup_markers (kind, bucket_at)
  select 'calls', ops.quarter_of(c.started_at) from warehouse.calls c
  where c.started_at >= since and c.legs_fetched_at is null and c.deleted_at is null
    and (c.caller_type = 'user' and c.caller_number in (select endpoint from new_rows)
      or c.called_type = 'user' and c.called_number in (select endpoint from new_rows))
  union
  select 'calls', ops.quarter_of(a.call_started_at)
  from rollups.transcript_agents a
    join warehouse.transcripts t on t.transcript_id = a.transcript_id
    join warehouse.call_legs l on l.call_id = t.call_id and l.leg_key = t.leg_unique_id
  where a.call_started_at >= since
    and (l.caller_number in (select endpoint from new_rows) or l.called_number in (select endpoint from new_rows));
  return null;
end $$;
comment on function ops.mark_endpoints is 'Marks the quarter hours of calls whose users the rollups look up, when extensions of users are inserted.';
create or replace trigger mark_endpoints after insert on warehouse.user_endpoints referencing new table as new_rows
  for each statement execute function ops.mark_endpoints();

-- Looks up another table row by row. Dynamic SQL is planned each time, and only if there is something to look up.
create or replace function ops.mark_replies() returns trigger
language plpgsql as $$
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
        where (n.direction, n.sent_at, n.deleted_at, n.opt_out_verdict) is distinct from (o.direction, o.sent_at, o.deleted_at, o.opt_out_verdict)';
  end case;
  execute format($sql$
    insert into ops.send_markers (planned_at)
    select s.planned_at from (%s) m join ops.sends s on s.line = m.line and s.number = m.number and s.state = 'SENT'
      and s.dispatched_at < m.sent_at and s.dispatched_at >= m.sent_at - interval '24 hours'
  $sql$, changed);
  return null;
end $$;
comment on function ops.mark_replies is 'Marks the days of sends that the recipient''s changed texts may answer.';
create or replace trigger mark_changed_replies after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_replies();
create or replace trigger mark_lost_replies after delete on warehouse.sms_messages referencing old table as old_rows
  for each statement execute function ops.mark_replies();
create or replace trigger mark_new_replies after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.mark_replies();
