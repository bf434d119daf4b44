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

comment on view reporting.fct_queue_visit is 'One row is a visit of an external call to a queue or huntgroup: a call that overflowed from one into another has two. Its wait and outcome are those of the visit, not of the call. Filter on started_at or local_date; day totals stand in queue_daily.';
comment on column reporting.fct_queue_visit.call_id is 'The call; with visit_number the key.';
comment on column reporting.fct_queue_visit.visit_number is 'Which visit of the call, from 1.';
comment on column reporting.fct_queue_visit.started_at is 'Start of the call.';
comment on column reporting.fct_queue_visit.local_date is 'Local day on which the call began.';
comment on column reporting.fct_queue_visit.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_queue_visit.local_hour is 'Local hour in which the call began.';
comment on column reporting.fct_queue_visit.local_isodow is 'Local day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.fct_queue_visit.is_business_hours is 'Whether the schedule of params was open when the call began. Changed hours count after reporting rebuild.';
comment on column reporting.fct_queue_visit.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.fct_queue_visit.kind is 'queue or huntgroup.';
comment on column reporting.fct_queue_visit.endpoint is 'Its number, else its name.';
comment on column reporting.fct_queue_visit.queue_key is 'The queue or huntgroup; see dim_queue.';
comment on column reporting.fct_queue_visit.account_number is 'The account''s number on the call; NULL = not reported.';
comment on column reporting.fct_queue_visit.number_key is 'The same, unknown where none is reported; see dim_number.';
comment on column reporting.fct_queue_visit.entered_at is 'When the call entered the queue; NULL = not known.';
comment on column reporting.fct_queue_visit.outcome is 'How the visit ended, by what the legs show next, telephones that only rang left out. answered: by somebody from this queue; overflowed: into next_queue_key; voicemail: into a mailbox; left: into a menu or elsewhere. Where nothing follows, the call ended here: abandoned and short_abandoned (the caller gave up here; short_abandoned as in fct_call, by the wait from the first queue), missed (nobody answered, and the caller is not reported to have given up; callers whom a user had passed on into the queue are among them), or answered or voicemail where only the call itself says so. Where no leg shows a queue, the outcome of the call, if it is known to have entered one alone. unknown: none of these tells.';
comment on column reporting.fct_queue_visit.wait_seconds is 'How long the caller waited in this queue: from its entry until somebody answered, the call went on elsewhere or it ended; as wait_basis says.';
comment on column reporting.fct_queue_visit.wait_basis is 'legs; duration_minus_talk: the queue is known without a leg, and the wait is that of the call, menus included; unknown: wait_seconds is NULL.';
comment on column reporting.fct_queue_visit.next_queue_key is 'Of an overflowed visit, the queue or huntgroup that followed; see dim_queue.';
