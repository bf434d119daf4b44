-- A text may be unread to the caller and read by others: which of the two a line counts is learnt from looks that tell
-- them apart.
alter table warehouse.sms_unread_snapshots
  add column agrees_with text check (agrees_with in ('personal', 'line'));
comment on column warehouse.sms_unread_snapshots.agrees_with is 'What the service counted, where that could be told: personal, the texts that the credential''s own user has not read; line, those that nobody has read. NULL = both are as many, or neither is.';
create index sms_unread_snapshots_telling on warehouse.sms_unread_snapshots (observed_at) where agrees_with is not null;
