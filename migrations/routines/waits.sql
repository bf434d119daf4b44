-- Talk after the first answer, ringing after a transfer and the menu before a queue are no waiting. What the legs do not say
-- stays unknown.
create or replace function warehouse.measure_waits(call_ids text[]) returns void
language sql as $$
  with legs as materialized (
    select l.call_id, l.ordinal, l.started_at, l.called_type, l.caller_type, l.talk_seconds,
      l.started_at + (l.duration_seconds - l.talk_seconds) * interval '1 second' as talk_at,
      coalesce(l.ended_at, l.started_at + l.duration_seconds * interval '1 second') as ended_at
    from unnest(call_ids) id
      cross join lateral (select * from warehouse.call_legs x where x.call_id = id and x.deleted_at is null offset 0) l
  ),
  waited as (
    select c.call_id, c.started_at, c.called_type, c.legs_wait_seconds,
      case c.status
        when 'answered' then (
          select case when bool_and(l.talk_at is not null) then min(l.talk_at) end from legs l
          where l.call_id = c.call_id and l.called_type in ('user', 'external') and l.talk_seconds > 0)
        when 'voicemail' then (
          select l.talk_at from legs l where l.call_id = c.call_id order by l.started_at desc nulls first, l.ordinal desc limit 1)
        when 'missed' then (select coalesce(c.ended_at, max(l.ended_at)) from legs l where l.call_id = c.call_id)
      end as until_at
    from unnest(call_ids) id join warehouse.calls c on c.call_id = id
    where c.direction = 'inbound' and c.leg_count > 0
  ),
  measured as (
    select w.call_id, w.legs_wait_seconds, extract(epoch from w.until_at - case
        when w.called_type in ('queue', 'huntgroup') or entry.is_queued then entry.entered_at
        else w.started_at
      end) as seconds
    from waited w
      cross join lateral (
        select bool_or('queue' in (l.called_type, l.caller_type) or 'huntgroup' in (l.called_type, l.caller_type)) as is_queued,
          min(l.started_at) filter (where l.called_type in ('queue', 'huntgroup')) as entered_at
        from legs l where l.call_id = w.call_id and (l.started_at is null or l.started_at <= w.until_at)
      ) entry
  )
  update warehouse.calls c
  set legs_wait_seconds = case when m.seconds between 0 and 2147483647 then m.seconds::integer end
  from measured m
  where c.call_id = m.call_id
    and c.legs_wait_seconds is distinct from case when m.seconds between 0 and 2147483647 then m.seconds::integer end
$$;
comment on function warehouse.measure_waits is 'Measures legs_wait_seconds of inbound calls of which legs are held; writes only what differs, since every write marks rollups.';
