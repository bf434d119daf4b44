-- An average of connected time was taken over calls that do not report theirs, too: agents whose legs say nothing of it seemed to
-- talk for no time at all.
alter table reporting.call_agent_rollup add column talk_count integer not null default 0;
alter table reporting.call_agent_month_rollup add column talk_count bigint not null default 0;
comment on column reporting.call_agent_rollup.talk_count is 'Of the calls handled, those whose connected time is reported.';
comment on column reporting.call_agent_month_rollup.talk_count is 'Of the calls handled, those whose connected time is reported.';

drop function reporting.agent_totals(date, date);
create function reporting.agent_totals(from_date date, to_date date) returns table (
  user_id bigint, user_name text, direction text, handled_count bigint, rang_count bigint, transferred_to_count bigint,
  talk_seconds bigint, talk_avg_seconds numeric, pickup_rate_pct numeric, talk_count bigint
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with months as (
    select date_trunc('month', from_date::timestamp + interval '1 month' - interval '1 day')::date as first,
      date_trunc('month', to_date::timestamp + interval '1 day')::date as past
  ),
  parts as (
    select m.user_id, m.direction, m.handled_count as handled, m.rang_count as rang, m.transferred_to_count as transferred, m.talk_seconds as talk,
      m.talk_count
    from months x join reporting.call_agent_month_rollup m on m.month_start_date >= x.first and m.month_start_date < x.past
    union all
    select d.user_id, d.direction, d.handled_count, d.rang_count, d.transferred_to_count, d.talk_seconds, d.talk_count
    from months x join reporting.call_agent_rollup d on d.local_date >= from_date and d.local_date < least(x.first, to_date + 1)
    union all
    select d.user_id, d.direction, d.handled_count, d.rang_count, d.transferred_to_count, d.talk_seconds, d.talk_count
    from months x join reporting.call_agent_rollup d on d.local_date >= greatest(x.past, x.first) and d.local_date <= to_date
  )
  select t.user_id, coalesce(nullif(trim(concat_ws(' ', u.first_name, u.last_name)), ''), nullif(u.username, ''), 'user ' || t.user_id),
    t.direction, t.handled, t.rang, t.transferred, t.talk, round(t.talk::numeric / nullif(t.talk_count, 0), 1),
    case when t.direction = 'inbound' then round(100.0 * t.handled / nullif(t.handled + t.rang, 0), 2) end, t.talk_count
  from (
    select p.user_id, p.direction, sum(p.handled)::bigint as handled, sum(p.rang)::bigint as rang,
      sum(p.transferred)::bigint as transferred, sum(p.talk)::bigint as talk, sum(p.talk_count)::bigint as talk_count
    from parts p group by 1, 2
  ) t
    left join warehouse.users u on u.user_id = t.user_id
$$;
comment on function reporting.agent_totals is 'agent_daily summed over local days, both ends included, fast over years: select * from reporting.agent_totals(''2026-01-01'', ''2026-12-31'').';

-- Days on which every call reports it have the count already.
update reporting.call_agent_rollup set talk_count = handled_count;
update reporting.call_agent_month_rollup set talk_count = handled_count;
insert into ops.rollup_recounts (kind, bucket_at)
select 'calls', ops.quarter_of(started_at) from warehouse.call_attributions
where user_id is not null and role in ('answered', 'placed') and talk_seconds is null
union
select 'calls', ops.quarter_of(started_at) from warehouse.calls
where started_at is not null and legs_fetched_at is null and talk_seconds is null and 'user' in (caller_type, called_type);
