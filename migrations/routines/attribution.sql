create or replace function ops.user_at(extension text, moment timestamptz) returns bigint
language sql stable as $$
  select min(user_id) from warehouse.user_endpoints
  where endpoint = extension and kind in ('extension', 'dial_extension', 'sip_line') and valid_from <= moment and moment < valid_to
  having count(distinct user_id) = 1
$$;
comment on function ops.user_at is 'The one user who had an extension at a moment; NULL when nobody is known or several shared it.';

create or replace function warehouse.attribute_calls(call_ids text[]) returns void
language plpgsql as $$
begin
  for start in 1 .. coalesce(cardinality(call_ids), 0) by 500 loop
    perform warehouse.attribute_some_calls(call_ids[start : start + 499]);
  end loop;
end $$;
comment on function warehouse.attribute_calls is 'Attributes calls that were read with their legs, 500 at a time: for so many, Postgres plans well without statistics.';

-- A leg without the types of its parties attributes nothing. If no leg has them, the parties of the call count. Writes only
-- differences, since every write marks rollups.
create or replace function warehouse.attribute_some_calls(call_ids text[]) returns void
language sql as $$
  with whole as (
    select * from warehouse.calls
    where call_id = any(call_ids) and legs_fetched_at is not null and started_at is not null
  ),
  -- The lateral join uses the index for each call, whatever the planner's statistics are.
  typed_legs as materialized (
    select c.call_id, c.started_at, l.ordinal, l.caller_type, l.caller_name, l.caller_number, l.called_type, l.called_name,
      l.called_number, l.talk_seconds, coalesce(l.talk_seconds > 0, l.status ~* '^answer', false) as is_answered
    from whole c
      cross join lateral (
        select * from warehouse.call_legs x
        where x.call_id = c.call_id and x.deleted_at is null
          and (x.caller_type in ('user', 'queue', 'huntgroup') or x.called_type in ('user', 'queue', 'huntgroup'))
        offset 0
      ) l
  ),
  ends as (
    select call_id, started_at, 'legs' as source, ordinal, caller_type, caller_name, caller_number, called_type, called_name,
      called_number, talk_seconds, is_answered
    from typed_legs
    union all
    select call_id, started_at, 'summary', 1, caller_type, caller_name, caller_number, called_type, called_name,
      called_number, talk_seconds, status = 'answered'
    from whole where call_id not in (select call_id from typed_legs)
  ),
  touched as (
    select call_id, started_at, source, 'extension' as kind, caller_number as endpoint, 'placed' as role, talk_seconds
    from ends where caller_type = 'user' and ordinal = 1
    union all
    select call_id, started_at, source, 'extension', called_number, case when is_answered then 'answered' else 'rang' end,
      case when is_answered then talk_seconds end
    from ends where called_type = 'user'
    union all
    select call_id, started_at, source, 'extension', called_number, 'transferred_to', null
    from ends where called_type = 'user' and caller_type = 'user' and ordinal > 1
    union all
    select call_id, started_at, source, 'extension', caller_number, 'transferred_out', null
    from ends where caller_type = 'user' and ordinal > 1
    union all
    select call_id, started_at, source, called_type, coalesce(nullif(called_number, ''), called_name), 'entered', null
    from ends where called_type in ('queue', 'huntgroup')
    union all
    select call_id, started_at, 'summary', 'number', account_number, case when direction = 'outbound' then 'placed' else 'entered' end, null
    from whole where account_number is not null and deleted_at is null
  ),
  merged as (
    select call_id, kind, left(endpoint, 200) as endpoint, role, min(started_at) as started_at,
      case when sum(talk_seconds) > 2147483647 then null else sum(talk_seconds)::integer end as talk_seconds, min(source) as source
    from touched where endpoint <> '' group by call_id, kind, left(endpoint, 200), role
  ),
  fresh as materialized (
    select m.call_id, m.kind, m.endpoint, m.role, m.started_at, m.talk_seconds, m.source,
      case when count(distinct e.user_id) = 1 then min(e.user_id) end as user_id
    from merged m
      left join warehouse.user_endpoints e on m.kind = 'extension' and e.endpoint = m.endpoint
        and e.kind in ('extension', 'dial_extension', 'sip_line') and e.valid_from <= m.started_at and m.started_at < e.valid_to
    group by m.call_id, m.kind, m.endpoint, m.role, m.started_at, m.talk_seconds, m.source
  ),
  gone as (
    delete from warehouse.call_attributions a
    where a.call_id = any(call_ids) and a.source <> 'search_filter'
      and (a.call_id, a.kind, a.endpoint, a.role) not in (select call_id, kind, endpoint, role from fresh)
  )
  insert into warehouse.call_attributions as a (call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source)
  select call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source from fresh
  on conflict (call_id, kind, endpoint, role) do update set started_at = excluded.started_at,
    user_id = coalesce(excluded.user_id, a.user_id), talk_seconds = excluded.talk_seconds, source = excluded.source
  where (a.started_at, coalesce(excluded.user_id, a.user_id), a.talk_seconds, a.source)
    is distinct from (excluded.started_at, a.user_id, excluded.talk_seconds, excluded.source)
$$;
comment on function warehouse.attribute_some_calls is 'Attributes one batch for warehouse.attribute_calls.';

-- Calls can be mirrored before the users of their extensions are known.
create or replace function warehouse.credit_endpoints() returns trigger
language plpgsql as $$
declare
  since timestamptz := (select min(valid_from) from new_rows where kind in ('extension', 'dial_extension', 'sip_line'));
  call_ids text[];
begin
  with credited as (
    update warehouse.call_attributions a set user_id = owner.user_id
    from (
      select x.call_id, x.endpoint, x.role, min(e.user_id) as user_id
      from warehouse.call_attributions x
        join warehouse.user_endpoints e on e.endpoint = x.endpoint and e.kind in ('extension', 'dial_extension', 'sip_line')
          and e.valid_from <= x.started_at and x.started_at < e.valid_to
      where x.user_id is null and x.kind = 'extension' and x.endpoint in (select endpoint from new_rows)
      group by x.call_id, x.endpoint, x.role having count(distinct e.user_id) = 1
    ) owner
    where a.kind = 'extension' and (a.call_id, a.endpoint, a.role) = (owner.call_id, owner.endpoint, owner.role)
    returning a.call_id
  )
  select array_agg(distinct call_id) into call_ids from credited;
  -- What begins now was on no call yet, so that only a user who is new has history read.
  if since is not null then
    call_ids := call_ids || array(
      select c.call_id from warehouse.calls c
      where c.started_at >= since and c.legs_fetched_at is null
        and (c.caller_type = 'user' and c.caller_number in (select endpoint from new_rows)
          or c.called_type = 'user' and c.called_number in (select endpoint from new_rows)));
  end if;
  for start in 1 .. coalesce(cardinality(call_ids), 0) by 500 loop
    perform warehouse.measure_waits(call_ids[start : start + 499]);
  end loop;
  return null;
end $$;
comment on function warehouse.credit_endpoints is 'Credits attributions and calls that had no user to the users whose extensions were just learned.';
create or replace trigger credit_endpoints after insert on warehouse.user_endpoints referencing new table as new_rows
  for each statement execute function warehouse.credit_endpoints();
