-- A process can die between a repair at the service and the note of what was lost meanwhile: the fault is noted first.
alter table ops.subscription_watch drop constraint subscription_watch_state_check;
alter table ops.subscription_watch add constraint subscription_watch_state_check
  check (state in ('in_place', 'broken', 'to_create_by_hand'));
comment on column ops.subscription_watch.state is 'in_place; broken, while it is repaired; or to_create_by_hand where the service refused.';
