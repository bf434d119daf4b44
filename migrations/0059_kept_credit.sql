-- What a call touched is credited by who had it. Attributions that had nobody are credited by themselves; what is looked up in
-- the rollups, the ends of calls that were not read whole and the legs of transcripts, is rolled up again. What begins now was
-- on no call yet, so that only a user who is new has history read.
create function ops.mark_endpoints() returns trigger language plpgsql as $$
declare
  since timestamptz := (select min(valid_from) from new_rows where kind in ('extension', 'dial_extension', 'sip_line'));
begin
  if since is null then return null; end if;
  insert into ops.rollup_markers (kind, bucket_at)
  select 'calls', ops.quarter_of(c.started_at) from warehouse.calls c
  where c.started_at >= since and c.legs_fetched_at is null and c.deleted_at is null
    and (c.caller_type = 'user' and c.caller_number in (select endpoint from new_rows)
      or c.called_type = 'user' and c.called_number in (select endpoint from new_rows))
  union
  select 'calls', ops.quarter_of(a.call_started_at)
  from reporting.transcript_agents a
    join warehouse.transcripts t on t.transcript_id = a.transcript_id
    join warehouse.call_legs l on l.call_id = t.call_id and l.leg_key = t.leg_unique_id
  where a.call_started_at >= since
    and (l.caller_number in (select endpoint from new_rows) or l.called_number in (select endpoint from new_rows));
  return null;
end $$;
comment on function ops.mark_endpoints is 'Marks the quarters of an hour of calls whose credit is looked up, when it is learned who has an extension.';
create trigger mark_endpoints after insert on warehouse.user_endpoints referencing new table as new_rows
  for each statement execute function ops.mark_endpoints();

-- An extension that a new user took over was held to have been theirs since ever, so that nobody had the credit for what was before.
with moved as (
  delete from warehouse.user_endpoints e using (
    select n.user_id, n.kind, n.endpoint, max(least(o.valid_to, u.first_seen_at)) as began_at
    from warehouse.user_endpoints n
      join warehouse.users u on u.user_id = n.user_id
      join warehouse.user_endpoints o on o.endpoint = n.endpoint and o.user_id <> n.user_id
      join warehouse.users w on w.user_id = o.user_id and w.first_seen_at < u.first_seen_at
    where n.valid_from = '-infinity' and o.valid_from < u.first_seen_at
    group by n.user_id, n.kind, n.endpoint
  ) t
  where (e.user_id, e.kind, e.endpoint) = (t.user_id, t.kind, t.endpoint) and e.valid_from = '-infinity' and t.began_at < e.valid_to
  returning e.user_id, e.kind, e.endpoint, e.valid_to, t.began_at
)
insert into warehouse.user_endpoints (user_id, kind, endpoint, valid_from, valid_to)
select user_id, kind, endpoint, began_at, valid_to from moved;

-- What was rolled up before its user was known is rolled up once more.
with known as (
  select e.endpoint, max(u.first_seen_at) as at
  from warehouse.user_endpoints e join warehouse.users u on u.user_id = e.user_id
  where e.kind in ('extension', 'dial_extension', 'sip_line') group by e.endpoint
)
insert into ops.rollup_recounts (kind, bucket_at)
select 'calls', ops.quarter_of(c.started_at)
from warehouse.calls c
  cross join lateral (values (c.caller_type, c.caller_number), (c.called_type, c.called_number)) as ends (kind, endpoint)
  join known k on k.endpoint = ends.endpoint
where c.legs_fetched_at is null and c.deleted_at is null and c.started_at is not null and ends.kind = 'user' and c.first_seen_at < k.at
union
select 'calls', ops.quarter_of(a.call_started_at)
from reporting.transcript_agents a
  join warehouse.transcripts t on t.transcript_id = a.transcript_id
  join warehouse.call_legs l on l.call_id = t.call_id and l.leg_key = t.leg_unique_id
  cross join lateral (values (l.caller_number), (l.called_number)) as ends (endpoint)
  join known k on k.endpoint = ends.endpoint
where t.first_seen_at < k.at;

comment on column warehouse.user_endpoints.valid_from is 'When the daemon first saw it there; -infinity for what stood in the first read of the user, unless somebody else was seen to have it: then when they had it no longer.';
