-- Postgres up to 17 adds 1e10 to the cost of a nested loop that `enable_nestloop = off` cannot avoid, and with `jit = on`, its
-- default, it compiles a plan of that cost at each execution: 0.5 to 3 s for one changed row. These functions keep the
-- setting, which makes the two transition tables be joined by hash, but join nothing else: what is looked at in two forms
-- is unnested in the select list.

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
    from (
      select unnest(array[n.started_at, o.started_at]) as moment
      from new_rows n join old_rows o using (call_id)
      where (n.content_hash <> o.content_hash or n.deleted_at is distinct from o.deleted_at
          or n.queue_wait_seconds is distinct from o.queue_wait_seconds or (n.legs_fetched_at is null) <> (o.legs_fetched_at is null))
        and (n.started_at, n.ended_at, n.direction, n.status, n.is_abandoned, n.duration_seconds, n.talk_seconds, n.queue_wait_seconds,
            n.transferred_count, n.is_recorded, n.called_back_call_id, n.repeated_count, n.external_number, n.account_number,
            n.is_internal, n.caller_type, n.caller_number, n.called_type, n.called_number,
            case when n.called_type in ('queue', 'huntgroup') then n.called_name end, n.deleted_at, n.legs_fetched_at is null)
          is distinct from
          (o.started_at, o.ended_at, o.direction, o.status, o.is_abandoned, o.duration_seconds, o.talk_seconds, o.queue_wait_seconds,
            o.transferred_count, o.is_recorded, o.called_back_call_id, o.repeated_count, o.external_number, o.account_number,
            o.is_internal, o.caller_type, o.caller_number, o.called_type, o.called_number,
            case when o.called_type in ('queue', 'huntgroup') then o.called_name end, o.deleted_at, o.legs_fetched_at is null)
    ) changed
    where moment is not null;
  end if;
  return null;
end $$;

create or replace function ops.note_calls() returns trigger language plpgsql set enable_nestloop = off as $$
declare
  since timestamptz := ops.news_since();
begin
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select kind, call_id, ended_at
    from (
      select call_id, ended_at,
        unnest(array['call_ended', case status when 'missed' then 'call_missed' when 'voicemail' then 'voicemail_left' end]) as kind
      from new_rows
      where ended_at > since and not is_erased
    ) news
    where kind is not null
    order by ended_at, call_id, kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select kind, call_id, ended_at
    from (
      select n.call_id, n.ended_at,
        unnest(array[
          case when o.ended_at is null then 'call_ended' end,
          case n.status when 'missed' then 'call_missed' when 'voicemail' then 'voicemail_left' end]) as kind
      from new_rows n join old_rows o using (call_id)
      where n.ended_at > since and not n.is_erased and (o.ended_at is null or o.status is distinct from n.status)
    ) news
    where kind is not null
    order by ended_at, call_id, kind;
  end if;
  return null;
end $$;

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
      select conversation_id, unnest(array[n.sent_at, o.sent_at]) as sent_at,
        (n.direction, n.sent_at, n.sent_by, n.is_scheduled, n.is_blocked, n.deleted_at)
          is distinct from (o.direction, o.sent_at, o.sent_by, o.is_scheduled, o.is_blocked, o.deleted_at) as is_turned
      from new_rows n join old_rows o using (conversation_id, message_id)
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

-- Its rows are few whatever the planner expects of it, and people call it from tools of their own.
alter function reporting.search(text, integer) set jit = off;
