create view reporting.trust as
select
  t.local_date,
  reporting.date_key(t.local_date) as date_key,
  t.kind,
  case when t.kind = 'day' then 'all calls' when t.kind = 'status' then t.name else t.kind || ' ' || t.name end as figure,
  case when t.kind in ('queue', 'huntgroup') then t.kind || ':' || t.name end as queue_key,
  case when t.kind = 'user' then t.name::bigint end as user_key,
  t.theirs,
  t.ours,
  t.theirs - t.ours as difference,
  t.explained,
  (t.theirs <> t.ours or t.unexplained_ids <> '{}') and t.explained is null as is_unexplained,
  t.call_ids,
  t.unexplained_ids,
  t.compared_at
from ops.tie_outs t;

comment on view reporting.trust is 'One row per closed local day and figure: what the service itself lists by a filtered search, beside what is held. Compared in the night after the day; what differs, again each night for a week.';
comment on column reporting.trust.local_date is 'Local day.';
comment on column reporting.trust.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.trust.kind is 'What is counted: status (calls of a direction with a status), queue, huntgroup, user (calls that they took part in), or day (all calls, of which ours are the totals of call_hourly).';
comment on column reporting.trust.figure is 'The figure in words, such as inbound answered.';
comment on column reporting.trust.queue_key is 'The queue or huntgroup; see dim_queue.';
comment on column reporting.trust.user_key is 'The user; see dim_user.';
comment on column reporting.trust.theirs is 'Calls that the service lists.';
comment on column reporting.trust.ours is 'Calls that are held.';
comment on column reporting.trust.difference is 'theirs less ours. Two figures that are equal may still differ in their calls; see call_ids.';
comment on column reporting.trust.call_ids is 'The first 500 calls that only one of both has. They were read again.';
comment on column reporting.trust.unexplained_ids is 'Of these, those that still differ after they were read again, for no known reason.';
comment on column reporting.trust.explained is 'Why they differ, with the number of calls: changed after the day closed, erased, deleted, or just read again, and compared again the next night. Of all calls also: at the edges of the day. NULL = they do not differ, or it is not known.';
comment on column reporting.trust.is_unexplained is 'Whether they still differ after the calls were read again, and nothing explains it.';
comment on column reporting.trust.compared_at is 'When they were compared last.';
