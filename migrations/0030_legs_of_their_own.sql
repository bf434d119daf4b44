-- The row of a call is also written by searches, which show no legs: one that began later kept the legs of the read out.
alter table warehouse.calls add column legs_fetch_seq bigint;
comment on column warehouse.calls.legs_fetch_seq is 'The read that the legs were mirrored from; NULL before the first, and for legs mirrored before this column was there.';

-- Calls that were read and whose legs were kept out are read once more.
update ops.sync_targets t set dirty_version = dirty_version + 1, due_at = now(), priority = 1
from warehouse.calls c
where t.kind = 'call' and t.key = c.call_id and c.legs_fetched_at is null and c.deleted_at is null
  and t.state = 'active' and t.dirty_version = t.clean_version;
