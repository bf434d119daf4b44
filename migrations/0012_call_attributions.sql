create table warehouse.call_attributions (
  call_id text not null,
  kind text not null check (kind in ('user', 'queue', 'huntgroup', 'extension', 'number')),
  endpoint text not null,
  role text not null check (role in ('answered', 'rang', 'placed', 'entered', 'transferred_to')),
  started_at timestamptz not null,
  user_id bigint,
  talk_seconds integer,
  source text not null check (source in ('legs', 'summary', 'search_filter')),
  primary key (call_id, kind, endpoint, role)
);
create index call_attributions_uncredited on warehouse.call_attributions (endpoint) where user_id is null and kind = 'extension';

comment on table warehouse.call_attributions is 'What a call touched: the extensions that answered, rang, placed or were transferred to it, the queues and huntgroups that it entered. Only of calls that were read whole, or listed by a filtered search.';
comment on column warehouse.call_attributions.call_id is 'The call.';
comment on column warehouse.call_attributions.kind is 'extension, queue, huntgroup or number; user where a search by user listed the call.';
comment on column warehouse.call_attributions.endpoint is 'The extension or number; of a queue or huntgroup without one, its name; of a user, the id. At most 200 characters, which an index takes.';
comment on column warehouse.call_attributions.role is 'answered, rang (and did not answer), placed, entered, transferred_to.';
comment on column warehouse.call_attributions.started_at is 'Start of the call.';
comment on column warehouse.call_attributions.user_id is 'Who had the extension when the call started; NULL = nobody known, or several.';
comment on column warehouse.call_attributions.talk_seconds is 'Connected time of this endpoint; NULL where no leg reports it.';
comment on column warehouse.call_attributions.source is 'legs; summary: the ends of the call, where its legs say nothing; search_filter: a search filtered by this endpoint listed the call.';

create function ops.user_at(extension text, moment timestamptz) returns bigint language sql stable as $$
  select min(user_id) from warehouse.user_endpoints
  where endpoint = extension and kind in ('extension', 'dial_extension', 'sip_line') and valid_from <= moment and moment < valid_to
  having count(distinct user_id) = 1
$$;
comment on function ops.user_at is 'The one user who had an extension at a moment; NULL when nobody is known or several shared it.';


-- Nothing is guessed: a leg that does not say what its ends are attributes nothing, and where no leg does, the ends of the
-- call itself count. Only what differs is written, since every write marks rollups.
create function warehouse.attribute_calls(call_ids text[]) returns void language sql as $$
  with whole as (
    select * from warehouse.calls
    where call_id = any(call_ids) and legs_fetched_at is not null and started_at is not null
  ),
  ends as (
    select c.call_id, c.started_at, 'legs' as source, l.ordinal, l.caller_type, l.caller_name, l.caller_number,
      l.called_type, l.called_name, l.called_number, l.talk_seconds,
      coalesce(l.talk_seconds > 0, l.status ~* '^answer', false) as is_answered
    from whole c join warehouse.call_legs l on l.call_id = c.call_id and l.deleted_at is null
    where l.caller_type in ('user', 'queue', 'huntgroup') or l.called_type in ('user', 'queue', 'huntgroup')
    union all
    select c.call_id, c.started_at, 'summary', 1, c.caller_type, c.caller_name, c.caller_number, c.called_type, c.called_name,
      c.called_number, c.talk_seconds, c.status = 'answered'
    from whole c
    where not exists (
      select from warehouse.call_legs l where l.call_id = c.call_id and l.deleted_at is null
        and (l.caller_type in ('user', 'queue', 'huntgroup') or l.called_type in ('user', 'queue', 'huntgroup')))
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
    select call_id, started_at, source, called_type, coalesce(nullif(called_number, ''), called_name), 'entered', null
    from ends where called_type in ('queue', 'huntgroup')
    union all
    select call_id, started_at, 'summary', 'number', account_number, case when direction = 'outbound' then 'placed' else 'entered' end, null
    from whole where account_number is not null and deleted_at is null
  ),
  fresh as materialized (
    select call_id, kind, left(endpoint, 200) as endpoint, role, min(started_at) as started_at,
      case when kind = 'extension' then ops.user_at(left(endpoint, 200), min(started_at)) end as user_id,
      case when sum(talk_seconds) > 2147483647 then null else sum(talk_seconds)::integer end as talk_seconds, min(source) as source
    from touched where endpoint <> '' group by call_id, kind, left(endpoint, 200), role
  ),
  gone as (
    delete from warehouse.call_attributions a
    where a.call_id = any(call_ids) and a.source <> 'search_filter'
      and not exists (select from fresh f where (f.call_id, f.kind, f.endpoint, f.role) = (a.call_id, a.kind, a.endpoint, a.role))
  )
  insert into warehouse.call_attributions as a (call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source)
  select call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source from fresh
  on conflict (call_id, kind, endpoint, role) do update set started_at = excluded.started_at,
    user_id = coalesce(excluded.user_id, a.user_id), talk_seconds = excluded.talk_seconds, source = excluded.source
  where (a.started_at, coalesce(excluded.user_id, a.user_id), a.talk_seconds, a.source)
    is distinct from (excluded.started_at, a.user_id, excluded.talk_seconds, excluded.source)
$$;
comment on function warehouse.attribute_calls is 'Attributes calls that were read whole to what their legs touched.';

-- Calls can be mirrored before the users are: their extensions are credited when these arrive.
create function warehouse.credit_endpoints() returns trigger language plpgsql as $$
begin
  update warehouse.call_attributions a set user_id = ops.user_at(a.endpoint, a.started_at)
  where a.user_id is null and a.kind = 'extension' and a.endpoint in (select endpoint from new_rows)
    and ops.user_at(a.endpoint, a.started_at) is not null;
  return null;
end $$;
comment on function warehouse.credit_endpoints is 'Credits attributions that had no user to the users whose extensions were just learned.';
create trigger credit_endpoints after insert on warehouse.user_endpoints referencing new table as new_rows
  for each statement execute function warehouse.credit_endpoints();

select warehouse.attribute_calls(array_agg(call_id)) from warehouse.calls where legs_fetched_at is not null;
