-- One row per visit of an external call to a queue or huntgroup. A call that overflows from one into another has two. Wait and outcome are
-- those of the visit, not of the call. Filter on started_at or local_date.
create view reporting.fct_queue_visit as
select
  v.call_id, -- The call; with visit_number the key.
  v.visit_number, -- Number of the visit within the call, from 1.
  v.started_at, -- Start of the call.
  v.local_date, -- Local day on which the call began.
  v.local_hour, -- Local hour in which the call began.
  v.is_business_hours, -- Whether the schedule of the line was open when the call began.
  v.direction, -- inbound, outbound, or unknown where none is reported.
  v.kind, -- queue or huntgroup.
  v.kind || ':' || v.endpoint as queue_key, -- The queue or huntgroup; see dim_queue.
  v.account_number, -- The account's number on the call; NULL = not reported.
  v.entered_at, -- When the call entered the queue; NULL = not known.
  -- How the visit ended, from the legs that follow (ignoring telephones that only rang). answered: from this queue; overflowed: into
  -- next_queue_key; voicemail: into a mailbox; left: into a menu or elsewhere. If no leg follows, the call ended here: abandoned or
  -- short_abandoned (the caller gave up; short_abandoned as in fct_call, by the wait since the first queue), missed (nobody answered, and
  -- the caller is not reported to have given up; includes callers transferred into the queue), or answered or voicemail if only the call
  -- itself says so. If no leg shows a queue, the outcome of the call, provided it is known to have entered only one. unknown: none of
  -- these.
  v.outcome,
  -- How long the caller waited in this queue: from entering it until somebody answered, or the call continued elsewhere or ended. See
  -- wait_basis.
  v.wait_seconds,
  -- legs; duration_minus_talk: no leg shows the queue, so this is the wait of the call, including menus; unknown: wait_seconds is NULL.
  v.wait_basis,
  v.next_queue as next_queue_key, -- For an overflowed visit, the next queue or huntgroup; see dim_queue.
  v.changed_at -- When the row last changed: for incremental imports.
from rollups.queue_visits v;
