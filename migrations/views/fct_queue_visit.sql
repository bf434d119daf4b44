create view reporting.fct_queue_visit as
select
  v.call_id,
  v.visit_number,
  v.started_at,
  v.local_date,
  reporting.date_key(v.local_date) as date_key,
  v.local_hour,
  extract(isodow from v.local_date)::integer as local_isodow,
  v.is_business_hours,
  v.direction,
  v.kind,
  v.endpoint,
  v.kind || ':' || v.endpoint as queue_key,
  v.account_number,
  coalesce(v.account_number, 'unknown') as number_key,
  v.entered_at,
  v.outcome,
  v.wait_seconds,
  v.wait_basis,
  v.next_queue as next_queue_key
from rollups.queue_visits v;

comment on view reporting.fct_queue_visit is 'One row per visit of an external call to a queue or huntgroup. A call that overflows from one into another has two. Wait and outcome are those of the visit, not of the call. Filter on started_at or local_date. Daily totals are in queue_daily.';
comment on column reporting.fct_queue_visit.call_id is 'The call; with visit_number the key.';
comment on column reporting.fct_queue_visit.visit_number is 'Number of the visit within the call, from 1.';
comment on column reporting.fct_queue_visit.started_at is 'Start of the call.';
comment on column reporting.fct_queue_visit.local_date is 'Local day on which the call began.';
comment on column reporting.fct_queue_visit.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_queue_visit.local_hour is 'Local hour in which the call began.';
comment on column reporting.fct_queue_visit.local_isodow is 'Local day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.fct_queue_visit.is_business_hours is 'Whether the schedule of the line was open when the call began. Changed hours take effect after reporting rebuild.';
comment on column reporting.fct_queue_visit.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.fct_queue_visit.kind is 'queue or huntgroup.';
comment on column reporting.fct_queue_visit.endpoint is 'Its number, or else its name.';
comment on column reporting.fct_queue_visit.queue_key is 'The queue or huntgroup; see dim_queue.';
comment on column reporting.fct_queue_visit.account_number is 'The account''s number on the call; NULL = not reported.';
comment on column reporting.fct_queue_visit.number_key is 'The same, unknown where none is reported; see dim_number.';
comment on column reporting.fct_queue_visit.entered_at is 'When the call entered the queue; NULL = not known.';
comment on column reporting.fct_queue_visit.outcome is 'How the visit ended, from the legs that follow (ignoring telephones that only rang). answered: from this queue; overflowed: into next_queue_key; voicemail: into a mailbox; left: into a menu or elsewhere. If no leg follows, the call ended here: abandoned or short_abandoned (the caller gave up; short_abandoned as in fct_call, by the wait since the first queue), missed (nobody answered, and the caller is not reported to have given up; includes callers transferred into the queue), or answered or voicemail if only the call itself says so. If no leg shows a queue, the outcome of the call, provided it is known to have entered only one. unknown: none of these.';
comment on column reporting.fct_queue_visit.wait_seconds is 'How long the caller waited in this queue: from entering it until somebody answered, or the call continued elsewhere or ended. See wait_basis.';
comment on column reporting.fct_queue_visit.wait_basis is 'legs; duration_minus_talk: no leg shows the queue, so this is the wait of the call, including menus; unknown: wait_seconds is NULL.';
comment on column reporting.fct_queue_visit.next_queue_key is 'For an overflowed visit, the next queue or huntgroup; see dim_queue.';
