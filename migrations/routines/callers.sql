-- One row is an inbound external call of local days, both ends included, whose caller shows a number, beside that caller's other inbound
-- calls. is_first_time: no earlier one is held, so callers of before the begin of the back-fill count as new. is_repeat: one began within
-- the window before. is_resolved, a proxy for first contact resolution: answered, and the caller did not call again within the window; NULL
-- when not answered or while the window is open. The service does not know why people call: who calls again about something else counts as
-- not resolved, and who gave up or wrote instead as resolved. Example: select * from reporting.caller_calls('2026-01-01', '2026-01-31', '24
-- hours').
create or replace function reporting.caller_calls(from_date date, to_date date, repeat_window interval default '7 days') returns table (
  call_id text, started_at timestamptz, local_date date, contact_key text, number_key text, queue_key text, answered_user_key bigint,
  is_answered boolean, is_first_time boolean, is_repeat boolean, is_resolved boolean
)
language sql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
  -- Instants plus a window are added in UTC, whatever the session's zone is: a day has 24 hours.
  with span as materialized (
    select p.time_zone, reporting.day_start(from_date) as from_at, reporting.day_start(to_date + 1) as to_at from reporting.params p
  ),
  calls as (
    select c.call_id, c.started_at, c.external_number, c.account_number, c.queue, c.answered_user_id, c.status,
      lag(c.started_at) over caller as previous_at, lead(c.started_at) over caller as next_at
    from span s join warehouse.calls c on c.started_at >= s.from_at - repeat_window and c.started_at < s.to_at + repeat_window
    where c.direction = 'inbound' and c.is_internal is not true and c.external_number is not null and c.deleted_at is null
    window caller as (partition by c.external_number collate "C" order by c.started_at, c.call_id collate "C")
  )
  select c.call_id, c.started_at, (c.started_at at time zone s.time_zone)::date, c.external_number, coalesce(c.account_number, 'unknown'),
    'queue:' || c.queue, c.answered_user_id, c.status is not distinct from 'answered',
    c.previous_at is null and not exists (
      select from warehouse.calls e
      where e.external_number = c.external_number and e.started_at < s.from_at - repeat_window and e.direction = 'inbound' and e.deleted_at is null),
    coalesce(c.started_at - c.previous_at <= repeat_window, false),
    case when c.status = 'answered' then case
      when c.next_at - c.started_at <= repeat_window then false
      when c.started_at + repeat_window <= now() then true
    end end
  from span s join calls c on c.started_at >= s.from_at and c.started_at < s.to_at
$$;

-- One row is an hour of local days, both ends included: peak_count is the most external calls that were in progress at once (ringing, menus
-- and queues included), peak_at when that was first so. Calls without a known length are left out; one longer than a day counts for its
-- first 24 hours. Example: select local_date, max(peak_count) from reporting.concurrent_calls('2026-01-01', '2026-01-31') group by 1.
create or replace function reporting.concurrent_calls(from_date date, to_date date) returns table (
  local_date date, local_hour integer, peak_count bigint, peak_at timestamptz
)
language sql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
  -- A call ends before another begins in the same second. The marks carry calls over into hours in which none begins.
  with span as materialized (
    select p.time_zone, reporting.day_start(from_date) as from_at, reporting.day_start(to_date + 1) as to_at from reporting.params p
  ),
  calls as materialized (
    select c.started_at, least(coalesce(c.ended_at, c.started_at + c.duration_seconds * interval '1 second'), c.started_at + interval '1 day') as ended_at
    from span s join warehouse.calls c on c.started_at >= s.from_at - interval '1 day' and c.started_at < s.to_at
    where c.is_internal is not true and c.deleted_at is null
  ),
  moments as (
    -- Until the last end of a moment is counted, the sums are too high.
    select moment, change, sum(change) over (order by moment, change rows unbounded preceding) as in_progress
    from (
      select started_at as moment, 1 as change from calls where ended_at >= started_at
      union all
      select ended_at, -1 from calls where ended_at >= started_at
      union all
      select generate_series(from_at, to_at - interval '1 second', interval '15 minutes'), 0 from span
    ) changes
  )
  select (m.moment at time zone s.time_zone)::date, extract(hour from m.moment at time zone s.time_zone)::integer, max(m.in_progress),
    (array_agg(m.moment order by m.in_progress desc, m.moment))[1]
  from moments m cross join span s
  where m.moment >= s.from_at and m.moment < s.to_at and m.change >= 0
  group by 1, 2
$$;
