-- One row per closed local day and figure: what the service itself lists by a filtered search, beside what is held. Compared in the night
-- after the day; what differs, again each night for a week.
create view reporting.trust as
select
  t.local_date, -- Local day.
  reporting.date_key(t.local_date) as date_key, -- The same as yyyymmdd; see dim_date.
  -- What is counted: status (calls of a direction with a status), queue, huntgroup, user (calls that they took part in), or day (all calls,
  -- of which ours are the totals of call_hourly).
  t.kind,
  -- The figure in words, such as inbound answered.
  case when t.kind = 'day' then 'all calls' when t.kind = 'status' then t.name else t.kind || ' ' || t.name end as figure,
  case when t.kind in ('queue', 'huntgroup') then t.kind || ':' || t.name end as queue_key, -- The queue or huntgroup; see dim_queue.
  case when t.kind = 'user' then t.name::bigint end as user_key, -- The user; see dim_user.
  t.theirs, -- Calls that the service lists.
  t.ours, -- Calls that are held.
  t.theirs - t.ours as difference, -- theirs less ours. Two figures that are equal may still differ in their calls; see call_ids.
  -- Why they differ, with the number of calls: changed after the day closed, erased, deleted, or just read again, and compared again the
  -- next night. Of all calls also: at the edges of the day. NULL = they do not differ, or it is not known.
  t.explained,
  -- Whether they still differ after the calls were read again, and nothing explains it.
  (t.theirs <> t.ours or t.unexplained_ids <> '{}') and t.explained is null as is_unexplained,
  t.call_ids, -- The first 500 calls that only one of both has. They were read again.
  t.unexplained_ids, -- Of these, those that still differ after they were read again, for no known reason.
  t.compared_at -- When they were compared last.
from ops.tie_outs t;
