-- A text may be unread to the caller and read by others: which of the two a line counts is learnt from looks that tell
-- them apart.
alter table warehouse.sms_unread_snapshots
  add column agrees_with text check (agrees_with in ('personal', 'line'));
comment on column warehouse.sms_unread_snapshots.agrees_with is 'What the service counted, where that could be told: personal, the texts that the credential''s own user has not read; line, those that nobody has read. NULL = both are as many, or neither is.';
create index sms_unread_snapshots_telling on warehouse.sms_unread_snapshots (observed_at) where agrees_with is not null;

-- A thread whose whole rereads find nothing read is read ever more seldom, whatever happens on its line meanwhile.
alter table warehouse.sms_conversations
  add column unread_reread_at timestamptz,
  add column unread_reread_count integer,
  add column unread_reread_wait interval;
comment on column warehouse.sms_conversations.unread_reread_at is 'When it was last to be read to its end because its line counted fewer unread texts than are held.';
comment on column warehouse.sms_conversations.unread_reread_count is 'How many unread texts of it were held then.';
comment on column warehouse.sms_conversations.unread_reread_wait is 'How long it waits from then on for the next such read: twice as long after each that found none of them read.';
