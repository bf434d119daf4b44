-- Talk after the first answer, ringing after a transfer and the menu before a queue do not count as waiting. Without the fields of
-- legs, the wait stays unknown.
create or replace function warehouse.measure_waits(call_ids text[]) returns void
language sql as $$
  -- Materialized: the planner expects few calls, and would measure each again for every other.
  with whole as materialized (
    select c.call_id, c.started_at, c.ended_at, c.direction, c.status, c.leg_count, c.caller_type, c.caller_number, c.called_type,
      c.called_name, c.called_number, c.legs_wait_seconds, c.legs_ring_seconds, c.menu_seconds, c.answered_user_id, c.placed_user_id,
      c.queue, c.huntgroup
    from unnest(call_ids) id join warehouse.calls c on c.call_id = id
  ),
  legs as materialized (
    select l.call_id, l.ordinal, l.started_at, l.called_type, l.called_name, l.called_number, l.caller_type, l.caller_number,
      l.talk_seconds, coalesce(l.talk_seconds > 0, l.status ~* '^answer', false) as is_answered,
      l.started_at + (l.duration_seconds - l.talk_seconds) * interval '1 second' as talk_at,
      coalesce(l.ended_at, l.started_at + l.duration_seconds * interval '1 second') as ended_at
    from whole c
      cross join lateral (select * from warehouse.call_legs x where x.call_id = c.call_id and x.deleted_at is null offset 0) l
    where c.leg_count > 0
  ),
  waited as materialized (
    select c.*, case c.status
        when 'answered' then (
          select case when bool_and(l.talk_at is not null) then min(l.talk_at) end from legs l
          where l.call_id = c.call_id and l.called_type in ('user', 'external') and l.talk_seconds > 0)
        when 'voicemail' then (
          select l.talk_at from legs l where l.call_id = c.call_id order by l.started_at desc nulls first, l.ordinal desc limit 1)
        when 'missed' then (select coalesce(c.ended_at, max(l.ended_at)) from legs l where l.call_id = c.call_id)
      end as until_at
    from whole c
  ),
  measured as materialized (
    select w.call_id,
      case when w.direction = 'inbound' and w.leg_count > 0 then extract(epoch from w.until_at - case
        when w.called_type in ('queue', 'huntgroup') or entry.is_queued then entry.entered_at
        else w.started_at
      end) end as wait_seconds,
      case
        when not entry.is_timed then null
        when w.direction = 'inbound' then extract(epoch from w.until_at - coalesce(entry.user_at, w.until_at))
        when w.direction = 'outbound' then extract(epoch from w.until_at - entry.first_at)
      end as ring_seconds,
      case when w.direction = 'inbound' and entry.is_timed and not entry.is_untyped
        then extract(epoch from coalesce(entry.goal_at, w.ended_at, entry.last_at) - w.started_at) end as menu_seconds
    from waited w
      cross join lateral (
        select bool_or('queue' in (l.called_type, l.caller_type) or 'huntgroup' in (l.called_type, l.caller_type))
            filter (where l.started_at is null or l.started_at <= w.until_at) as is_queued,
          min(l.started_at) filter (where l.called_type in ('queue', 'huntgroup') and l.started_at <= w.until_at) as entered_at,
          min(l.started_at) filter (where l.called_type = 'user' and l.started_at <= w.until_at) as user_at,
          min(l.started_at) filter (where l.called_type in ('user', 'queue', 'huntgroup', 'mailbox', 'external')) as goal_at,
          min(l.started_at) as first_at, max(l.ended_at) as last_at,
          bool_and(l.started_at is not null) as is_timed, bool_or(l.called_type is null) as is_untyped
        from legs l where l.call_id = w.call_id
      ) entry
  ),
  -- As warehouse.attribute_calls: where no leg says what its ends are, those of the call itself count.
  ends as (
    select call_id, ordinal, started_at, caller_type, caller_number, called_type, called_name, called_number, is_answered from legs
    union all
    select c.call_id, 1, c.started_at, c.caller_type, c.caller_number, c.called_type, c.called_name, c.called_number, c.status = 'answered'
    from whole c
    where not exists (
      select from legs l where l.call_id = c.call_id and (l.caller_type in ('user', 'queue', 'huntgroup') or l.called_type in ('user', 'queue', 'huntgroup')))
  ),
  answers as (
    select call_id, min(ordinal) as ordinal from ends where is_answered and called_type in ('user', 'external') group by call_id
  ),
  path as (
    select e.call_id,
      (array_agg(e.called_number order by e.started_at, e.ordinal) filter (where e.called_type = 'user' and e.is_answered))[1] as answered_by,
      min(e.caller_number) filter (where e.caller_type = 'user' and e.ordinal = 1) as placed_by,
      (array_agg(coalesce(nullif(e.called_number, ''), nullif(e.called_name, '')) order by e.ordinal desc)
        filter (where e.called_type = 'queue' and e.ordinal <= coalesce(a.ordinal, e.ordinal)))[1] as queue,
      (array_agg(coalesce(nullif(e.called_number, ''), nullif(e.called_name, '')) order by e.ordinal desc)
        filter (where e.called_type = 'huntgroup' and e.ordinal <= coalesce(a.ordinal, e.ordinal)))[1] as huntgroup
    from ends e left join answers a on a.call_id = e.call_id
    group by e.call_id
  ),
  traced as materialized (
    select c.call_id, case when p.answered_by <> '' then ops.user_at(p.answered_by, c.started_at) end as answered_user_id,
      case when p.placed_by <> '' then ops.user_at(p.placed_by, c.started_at) end as placed_user_id,
      left(p.queue, 200) as queue, left(p.huntgroup, 200) as huntgroup
    from whole c left join path p on p.call_id = c.call_id
  ),
  fresh as (
    select m.call_id, case when m.wait_seconds between 0 and 2147483647 then m.wait_seconds::integer end as legs_wait_seconds, case when m.ring_seconds between 0 and 2147483647 then m.ring_seconds::integer end as legs_ring_seconds,
      case when m.menu_seconds between 0 and 2147483647 then m.menu_seconds::integer end as menu_seconds, t.answered_user_id, t.placed_user_id, t.queue, t.huntgroup
    from measured m join traced t on t.call_id = m.call_id
  )
  update warehouse.calls c
  set legs_wait_seconds = f.legs_wait_seconds, legs_ring_seconds = f.legs_ring_seconds, menu_seconds = f.menu_seconds,
    answered_user_id = f.answered_user_id, placed_user_id = f.placed_user_id, queue = f.queue, huntgroup = f.huntgroup
  from fresh f
  where c.call_id = f.call_id
    and (c.legs_wait_seconds, c.legs_ring_seconds, c.menu_seconds, c.answered_user_id, c.placed_user_id, c.queue, c.huntgroup)
      is distinct from (f.legs_wait_seconds, f.legs_ring_seconds, f.menu_seconds, f.answered_user_id, f.placed_user_id, f.queue, f.huntgroup)
$$;
comment on function warehouse.measure_waits is 'Measures the waits of calls by their legs, and finds who answered and through which queue; writes only what differs, since every write marks rollups.';
