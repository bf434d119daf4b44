-- One row per user and role in a call. Somebody who answered and transferred a call has two rows. Filter on started_at. The queues of a
-- call are in fct_queue_visit, totals in agent_hourly.
create view reporting.fct_call_agent as
select
  c.call_id, -- The call.
  c.started_at, -- Start of the call.
  -- The user who had the extension when the call started; see dim_user. Extensions of nobody, or of several users, are left out.
  a.user_id as user_key,
  -- answered; rang (without answering); placed; transferred_to; transferred_out (transferred the call); touched: took part, but only a
  -- search says so, which does not tell how.
  a.role,
  -- internal: both ends belong to the account. External calls: inbound, outbound, or unknown if not reported.
  case when c.is_internal then 'internal' when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end as direction,
  c.status, -- Status of the whole call: answered, missed, voicemail or unknown.
  a.talk_seconds, -- Connected time of the user in this role; NULL where it is not reported.
  -- legs: the call was read with its legs; summary: only its two ends are known; search_filter: a search filtered by this user listed it.
  a.source,
  greatest(c.changed_at, c.legs_fetched_at) as changed_at -- As in fct_call.
from warehouse.calls c
  -- Call by call: a span of time has few calls, but the planner would read the attributions of all.
  cross join lateral (
    select x.user_id, x.role, sum(x.talk_seconds) as talk_seconds, min(x.source) as source
    from warehouse.call_attributions x where x.call_id = c.call_id and x.user_id is not null group by x.user_id, x.role
  ) a
where c.deleted_at is null
union all
-- A call that was not read whole shows its two ends alone.
select c.call_id, c.started_at, owner.user_id, ends.role,
  case when c.is_internal then 'internal' when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end, c.status,
  ends.talk_seconds, 'summary', greatest(c.changed_at, c.legs_fetched_at)
from warehouse.calls c
  cross join lateral (values
    (case when c.caller_type = 'user' then c.caller_number end, 'placed', c.talk_seconds),
    (case when c.called_type = 'user' then c.called_number end, case when c.status = 'answered' then 'answered' else 'rang' end,
      case when c.status = 'answered' then c.talk_seconds end)
  ) ends (extension, role, talk_seconds)
  cross join lateral (
    select min(e.user_id) as user_id from warehouse.user_endpoints e
    where e.endpoint = left(ends.extension, 200) and e.kind in ('extension', 'dial_extension', 'sip_line')
      and e.valid_from <= c.started_at and c.started_at < e.valid_to
    having count(distinct e.user_id) = 1
  ) owner
where c.legs_fetched_at is null and c.deleted_at is null and c.started_at is not null and ends.extension <> '';
