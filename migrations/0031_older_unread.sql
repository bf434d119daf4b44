-- What came before the mirror was made is no sign of a webhook that was lost.
alter table warehouse.sms_unread_snapshots drop constraint sms_unread_snapshots_state_check;
alter table warehouse.sms_unread_snapshots add constraint sms_unread_snapshots_state_check
  check (state in ('even', 'behind', 'unexplained', 'older', 'ahead'));
comment on column warehouse.sms_unread_snapshots.state is 'even; behind: the service counts more, and the threads of the line are being looked through; unexplained: it still does after that, a possible gap; older: the same, but what is missing came before the mirror was made; ahead: texts were read elsewhere, and are read again.';
