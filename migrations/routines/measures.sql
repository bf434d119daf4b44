-- Columns are only added at the end, which `create or replace view` allows. A view can have 1,600 columns.
create or replace function ops.widen_kpi_pivot() returns integer
language plpgsql as $$
declare
  measures record;
begin
  select string_agg(format('max(x.kpi_value) filter (where x.kpi_name = %L) as %I', kpi_name, column_name), ', ' order by kpi_number) as columns,
    string_agg(format('comment on column reporting.kpi_pivot.%I is %L', column_name, 'The measure "' || kpi_name || '"; NULL = not scored.'), '; ') as comments,
    count(*)::integer as total
  into measures
  from (
    select kpi_number, kpi_name,
      left('kpi_' || kpi_number || '_' || trim('_' from regexp_replace(lower(kpi_name), '[^a-z0-9]+', '_', 'g')), 60) as column_name
    from rollups.kpi_names order by kpi_number limit 500
  ) named;
  if measures.columns is null then return 0; end if;
  execute format('create or replace view reporting.kpi_pivot as
    select t.transcript_id, t.call_id, t.call_started_at, t.local_date, t.date_key, t.agent_user_id, t.agent_name, t.heard_agent_name, t.call_purpose, k.*
    from reporting.fct_transcript t
      cross join lateral (select %s from warehouse.transcript_kpis x where x.transcript_id = t.transcript_id having count(*) > 0) k',
    measures.columns);
  execute measures.comments;
  return measures.total;
end $$;
comment on function ops.widen_kpi_pivot is 'Adds missing columns for measures to reporting.kpi_pivot. Returns their total number.';

-- Runs with its owner's rights, as views do.
create or replace function reporting.agent_totals(from_date date, to_date date) returns table (
  user_id bigint, user_name text, direction text, handled_count bigint, answered_count bigint, placed_count bigint, connected_count bigint,
  placed_connected_count bigint, unconnected_count bigint, connect_rate_pct numeric, rang_count bigint, transferred_to_count bigint,
  transferred_out_count bigint,
  talk_seconds bigint, talk_count bigint, talk_avg_seconds numeric, pickup_rate_pct numeric
)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with months as (
    select date_trunc('month', from_date::timestamp + interval '1 month' - interval '1 day')::date as first,
      date_trunc('month', to_date::timestamp + interval '1 day')::date as past
  ),
  parts as (
    select m.user_id, m.direction, m.handled_count, m.answered_count, m.placed_count, m.connected_count, m.placed_connected_count,
      m.unconnected_count, m.rang_count, m.transferred_to_count, m.transferred_out_count, m.talk_seconds, m.talk_count
    from months x join rollups.call_agent_month_rollup m on m.month_start_date >= x.first and m.month_start_date < x.past
    union all
    select d.user_id, d.direction, d.handled_count, d.answered_count, d.placed_count, d.connected_count, d.placed_connected_count,
      d.unconnected_count, d.rang_count, d.transferred_to_count, d.transferred_out_count, d.talk_seconds, d.talk_count
    from months x join rollups.call_agent_day_rollup d on d.local_date >= from_date and d.local_date < least(x.first, to_date + 1)
    union all
    select d.user_id, d.direction, d.handled_count, d.answered_count, d.placed_count, d.connected_count, d.placed_connected_count,
      d.unconnected_count, d.rang_count, d.transferred_to_count, d.transferred_out_count, d.talk_seconds, d.talk_count
    from months x join rollups.call_agent_day_rollup d on d.local_date >= greatest(x.past, x.first) and d.local_date <= to_date
  )
  select t.user_id, coalesce(nullif(trim(concat_ws(' ', u.first_name, u.last_name)), ''), nullif(u.username, ''), 'user ' || t.user_id),
    t.direction, t.handled, t.answered, t.placed, t.connected, t.placed_connected, t.unconnected,
    round(100.0 * t.placed_connected / nullif(t.placed_connected + t.unconnected, 0), 2), t.rang, t.transferred, t.transferred_out,
    t.talk, t.talked, round(t.talk::numeric / nullif(t.talked, 0), 1),
    case when t.direction in ('inbound', 'internal') then round(100.0 * t.answered / nullif(t.answered + t.rang, 0), 2) end
  from (
    select p.user_id, p.direction, sum(p.handled_count)::bigint as handled, sum(p.answered_count)::bigint as answered,
      sum(p.placed_count)::bigint as placed, sum(p.connected_count)::bigint as connected,
      sum(p.placed_connected_count)::bigint as placed_connected, sum(p.unconnected_count)::bigint as unconnected,
      sum(p.rang_count)::bigint as rang, sum(p.transferred_to_count)::bigint as transferred,
      sum(p.transferred_out_count)::bigint as transferred_out, sum(p.talk_seconds)::bigint as talk,
      sum(p.talk_count)::bigint as talked
    from parts p group by 1, 2
  ) t
    left join warehouse.users u on u.user_id = t.user_id
$$;
comment on function reporting.agent_totals is 'agent_daily summed over local days, both ends included, fast over years: select * from reporting.agent_totals(''2026-01-01'', ''2026-12-31'').';

-- Instants plus a window are added in UTC, whatever the session's zone is: a day has 24 hours.
create or replace function reporting.caller_calls(from_date date, to_date date, repeat_window interval default '7 days') returns table (
  call_id text, started_at timestamptz, local_date date, contact_key text, number_key text, queue_key text, answered_user_key bigint,
  is_answered boolean, is_first_time boolean, is_repeat boolean, is_resolved boolean
)
language sql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
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
comment on function reporting.caller_calls is 'One row is an inbound external call of local days, both ends included, whose caller shows a number, beside that caller''s other inbound calls. is_first_time: no earlier one is held, so callers of before the begin of the back-fill count as new. is_repeat: one began within the window before. is_resolved, a proxy for first contact resolution: answered, and the caller did not call again within the window; NULL when not answered or while the window is open. The service does not know why people call: who calls again about something else counts as not resolved, and who gave up or wrote instead as resolved. Example: select * from reporting.caller_calls(''2026-01-01'', ''2026-01-31'', ''24 hours'').';

-- A call ends before another begins in the same second. The marks carry calls over into hours in which none begins.
create or replace function reporting.concurrent_calls(from_date date, to_date date) returns table (
  local_date date, local_hour integer, peak_count bigint, peak_at timestamptz
)
language sql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
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
comment on function reporting.concurrent_calls is 'One row is an hour of local days, both ends included: peak_count is the most external calls that were in progress at once (ringing, menus and queues included), peak_at when that was first so. Calls without a known length are left out; one longer than a day counts for its first 24 hours. Example: select local_date, max(peak_count) from reporting.concurrent_calls(''2026-01-01'', ''2026-01-31'') group by 1.';
