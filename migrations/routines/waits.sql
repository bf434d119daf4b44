-- Talk after the first answer, ringing after a transfer and the menu before a queue do not count as waiting. Without the fields of
-- legs, the wait stays unknown. Windows instead of joins: the planner expects few calls, and would search all legs for each of many.
create or replace function warehouse.measure_waits(call_ids text[]) returns void
language plpgsql as $$
begin
  with whole as materialized (
    select c.* from unnest(call_ids) id join warehouse.calls c on c.call_id = id
  ),
  -- The legs of each call, and the call itself, whose ends count where no leg says what its own are.
  ends as (
    select c.call_id, c.started_at as call_started_at, c.ended_at as call_ended_at, c.direction, c.status,
      c.called_type in ('queue', 'huntgroup') as is_to_queue, true as is_leg, l.ordinal, l.started_at,
      coalesce(l.ended_at, l.started_at + l.duration_seconds * interval '1 second') as ended_at, l.talk_seconds,
      l.started_at + (l.duration_seconds - l.talk_seconds) * interval '1 second' as talk_at,
      coalesce(l.talk_seconds > 0, l.status ~* '^answer', false) as is_answered,
      l.caller_type, l.caller_number, l.called_type, l.called_name, l.called_number
    from whole c
      cross join lateral (select * from warehouse.call_legs x where x.call_id = c.call_id and x.deleted_at is null offset 0) l
    where c.leg_count > 0
    union all
    select call_id, started_at, ended_at, direction, status, called_type in ('queue', 'huntgroup'), false, 1, started_at, null, null,
      null, status = 'answered', caller_type, caller_number, called_type, called_name, called_number
    from whole
  ),
  waited as (
    select *,
      bool_or(is_leg and (caller_type in ('user', 'queue', 'huntgroup') or called_type in ('user', 'queue', 'huntgroup')))
        over calls as has_typed_legs,
      case status
        when 'answered' then case
          when bool_and(talk_at is not null) filter (where called_type in ('user', 'external') and talk_seconds > 0) over calls
          then min(talk_at) filter (where called_type in ('user', 'external') and talk_seconds > 0) over calls
        end
        when 'voicemail' then first_value(talk_at) over (
          partition by call_id order by is_leg desc, started_at desc nulls first, ordinal desc)
        when 'missed' then case when bool_or(is_leg) over calls then coalesce(call_ended_at, max(ended_at) over calls) end
      end as until_at
    from ends
    window calls as (partition by call_id)
  ),
  answered as (
    select *, is_leg or has_typed_legs is not true as is_end,
      min(ordinal) filter (where is_answered and called_type in ('user', 'external') and (is_leg or has_typed_legs is not true))
        over (partition by call_id) as answer
    from waited
  ),
  measured as (
    select call_id, min(call_started_at) as started_at, min(call_ended_at) as ended_at, min(direction) as direction,
      min(until_at) as until_at, bool_or(is_leg) as has_legs, bool_or(is_to_queue) as is_to_queue,
      bool_or('queue' in (called_type, caller_type) or 'huntgroup' in (called_type, caller_type))
        filter (where is_leg and (started_at is null or started_at <= until_at)) as is_queued,
      min(started_at) filter (where is_leg and called_type in ('queue', 'huntgroup') and started_at <= until_at) as queue_at,
      min(started_at) filter (where is_leg and called_type = 'user' and started_at <= until_at) as user_at,
      min(started_at) filter (where is_leg and called_type in ('user', 'queue', 'huntgroup', 'mailbox', 'external')) as menu_end_at,
      min(started_at) filter (where is_leg) as first_at, max(ended_at) as last_at,
      bool_and(started_at is not null) filter (where is_leg) as is_timed,
      bool_or(called_type is null) filter (where is_leg) as is_untyped,
      (array_agg(called_number order by started_at, ordinal) filter (where is_end and called_type = 'user' and is_answered))[1]
        as answered_by,
      min(caller_number) filter (where is_end and caller_type = 'user' and ordinal = 1) as placed_by,
      (array_agg(coalesce(nullif(called_number, ''), nullif(called_name, '')) order by ordinal desc)
        filter (where is_end and called_type = 'queue' and ordinal <= coalesce(answer, ordinal)))[1] as queue,
      (array_agg(coalesce(nullif(called_number, ''), nullif(called_name, '')) order by ordinal desc)
        filter (where is_end and called_type = 'huntgroup' and ordinal <= coalesce(answer, ordinal)))[1] as huntgroup
    from answered
    group by call_id
  ),
  fresh as materialized (
    select call_id,
      case when direction = 'inbound' then extract(epoch from
        until_at - case when is_to_queue or is_queued then queue_at else started_at end) end as wait_seconds,
      case
        when not is_timed then null
        when direction = 'inbound' then extract(epoch from until_at - coalesce(user_at, until_at))
        when direction = 'outbound' then extract(epoch from until_at - first_at)
      end as ring_seconds,
      case when direction = 'inbound' and is_timed and not is_untyped
        then extract(epoch from coalesce(menu_end_at, ended_at, last_at) - started_at) end as menu_seconds,
      case when answered_by <> '' then ops.user_at(answered_by, started_at) end as answered_user_id,
      case when placed_by <> '' then ops.user_at(placed_by, started_at) end as placed_user_id,
      left(queue, 200) as queue, left(huntgroup, 200) as huntgroup
    from measured
  )
  update warehouse.calls c
  set legs_wait_seconds = f.wait_seconds, legs_ring_seconds = f.ring_seconds, menu_seconds = f.menu_seconds,
    answered_user_id = f.answered_user_id, placed_user_id = f.placed_user_id, queue = f.queue, huntgroup = f.huntgroup
  from (
    select call_id, case when wait_seconds between 0 and 2147483647 then wait_seconds::integer end as wait_seconds,
      case when ring_seconds between 0 and 2147483647 then ring_seconds::integer end as ring_seconds,
      case when menu_seconds between 0 and 2147483647 then menu_seconds::integer end as menu_seconds,
      answered_user_id, placed_user_id, queue, huntgroup
    from fresh
  ) f
  where c.call_id = f.call_id
    and (c.legs_wait_seconds, c.legs_ring_seconds, c.menu_seconds, c.answered_user_id, c.placed_user_id, c.queue, c.huntgroup)
      is distinct from (f.wait_seconds, f.ring_seconds, f.menu_seconds, f.answered_user_id, f.placed_user_id, f.queue, f.huntgroup);
end $$;
comment on function warehouse.measure_waits is 'Measures the waits of calls by their legs, and finds who answered and through which queue; writes only what differs, since every write marks rollups.';
