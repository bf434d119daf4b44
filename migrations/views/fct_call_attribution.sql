create view reporting.fct_call_attribution as
select c.call_id, c.started_at, reporting.date_key((c.started_at at time zone p.time_zone)::date) as date_key, a.kind, a.endpoint, a.role, a.user_id, case when a.kind in ('queue', 'huntgroup') then a.kind || ':' || a.endpoint end as queue_key, a.talk_seconds, a.source, c.direction,
  c.status, coalesce(c.is_internal, false) as is_internal
from warehouse.calls c
  cross join reporting.params p
  -- Call by call: a span of time has few, and the planner would rather read all that all calls touched.
  cross join lateral (select * from warehouse.call_attributions x where x.call_id = c.call_id offset 0) a
where c.deleted_at is null
union all
-- A call that was not read whole shows its two ends alone.
select c.call_id, c.started_at, reporting.date_key((c.started_at at time zone p.time_zone)::date), ends.kind, ends.endpoint, ends.role, owner.user_id,
  case when ends.kind in ('queue', 'huntgroup') then ends.kind || ':' || ends.endpoint end, ends.talk_seconds, 'summary', c.direction,
  c.status, coalesce(c.is_internal, false)
from warehouse.calls c
  cross join reporting.params p
  cross join lateral (values
    (case when c.caller_type = 'user' then 'extension' end, c.caller_number, 'placed', c.talk_seconds),
    (case when c.called_type = 'user' then 'extension' when c.called_type in ('queue', 'huntgroup') then c.called_type end,
      left(coalesce(nullif(c.called_number, ''), c.called_name), 200),
      case when c.called_type <> 'user' then 'entered' when c.status = 'answered' then 'answered' else 'rang' end,
      case when c.called_type = 'user' and c.status = 'answered' then c.talk_seconds end)
  ) ends (kind, endpoint, role, talk_seconds)
  left join lateral (
    select min(e.user_id) as user_id from warehouse.user_endpoints e
    where ends.kind = 'extension' and e.endpoint = ends.endpoint and e.kind in ('extension', 'dial_extension', 'sip_line')
      and e.valid_from <= c.started_at and c.started_at < e.valid_to
    having count(distinct e.user_id) = 1
  ) owner on true
where c.legs_fetched_at is null and c.deleted_at is null and c.started_at is not null
  and ends.kind is not null and ends.endpoint <> '';

comment on view reporting.fct_call_attribution is 'One row is a user, extension, queue, huntgroup or number that a call touched in one role, with its source. A call that entered two queues has two rows. Filter on started_at.';
comment on column reporting.fct_call_attribution.call_id is 'The call.';
comment on column reporting.fct_call_attribution.started_at is 'Start of the call.';
comment on column reporting.fct_call_attribution.date_key is 'Local day of the start as yyyymmdd; see dim_date.';
comment on column reporting.fct_call_attribution.kind is 'extension, queue, huntgroup or number; user where a search by user listed the call.';
comment on column reporting.fct_call_attribution.endpoint is 'The extension or number; of a queue or huntgroup without one, its name; of a user, the id.';
comment on column reporting.fct_call_attribution.role is 'answered, rang (and did not answer), placed, entered, transferred_to, transferred_out (passed it on); touched: it took part, and only a search says so, which does not tell how.';
comment on column reporting.fct_call_attribution.user_id is 'Who had the extension when the call started; NULL = nobody known, or several. See dim_user.';
comment on column reporting.fct_call_attribution.queue_key is 'The queue or huntgroup, see dim_queue; NULL for other kinds.';
comment on column reporting.fct_call_attribution.talk_seconds is 'Connected time of this endpoint; NULL where it is not reported.';
comment on column reporting.fct_call_attribution.source is 'legs: the call was read whole; summary: only its two ends are known; search_filter: a search filtered by this endpoint listed it.';
comment on column reporting.fct_call_attribution.direction is 'inbound or outbound, as the call; internal calls have one of the two as well.';
comment on column reporting.fct_call_attribution.status is 'Status of the whole call: answered, missed, voicemail or unknown.';
comment on column reporting.fct_call_attribution.is_internal is 'Both ends of the call are the account''s own; false too where the service does not say.';
