-- A queue or huntgroup without a number is counted by its name, which can change.
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
          n.is_internal, n.caller_type, n.caller_number, n.called_type, n.called_number,
          case when n.called_type in ('queue', 'huntgroup') then n.called_name end, n.deleted_at, n.legs_fetched_at is null)
        is distinct from
        (o.started_at, o.ended_at, o.direction, o.status, o.is_abandoned, o.duration_seconds, o.talk_seconds, o.queue_wait_seconds,
          o.transferred_count, o.is_recorded, o.called_back_call_id, o.repeated_count, o.external_number, o.account_number,
          o.is_internal, o.caller_type, o.caller_number, o.called_type, o.called_number,
          case when o.called_type in ('queue', 'huntgroup') then o.called_name end, o.deleted_at, o.legs_fetched_at is null);
  end if;
  return null;
end $$;
