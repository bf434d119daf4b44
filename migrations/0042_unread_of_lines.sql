-- Where the service calls no text read that only others have read, all are unread to the caller: those that nobody has read
-- are few among millions, and are counted each minute.
alter table warehouse.sms_messages add column is_read_by_others boolean not null default false;
comment on column warehouse.sms_messages.is_read_by_others is 'Whether a user has read it while is_read was false: somebody else than the credential''s own user.';
update warehouse.sms_messages m set is_read_by_others = true
  where m.direction = 'in' and m.is_read = false and m.deleted_at is null and exists (
    select from warehouse.sms_message_reads r where r.conversation_id = m.conversation_id and r.message_id = m.message_id);

create function warehouse.note_others_reads() returns trigger language plpgsql as $$
begin
  update warehouse.sms_messages m set is_read_by_others = true
  from (select distinct conversation_id, message_id from new_rows) r
  where m.conversation_id = r.conversation_id and m.message_id = r.message_id and m.is_read = false and not m.is_read_by_others;
  return null;
end $$;
comment on function warehouse.note_others_reads is 'Notes of a message that users have read it, where it is unread to the caller.';
create trigger note_others_reads after insert on warehouse.sms_message_reads referencing new table as new_rows
  for each statement execute function warehouse.note_others_reads();

drop index warehouse.sms_messages_unread;
create index sms_messages_unread on warehouse.sms_messages (line, is_read_by_others)
  where direction = 'in' and is_read = false and deleted_at is null;

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

-- A service may leave texts out of its counts that it shows as unread: what is lost stays visible beside them.
alter table warehouse.sms_unread_snapshots
  add column uncounted_count integer not null default 0 check (uncounted_count >= 0),
  add column looked_until timestamptz;
comment on column warehouse.sms_unread_snapshots.uncounted_count is 'Of the held ones, how many the service leaves out of its count although rereads of their threads found them unread: so many fewer are expected of it.';
comment on column warehouse.sms_unread_snapshots.looked_until is 'When a look last found it all the same.';
comment on column warehouse.sms_unread_snapshots.state is 'even, but for what is uncounted; behind: the service counts more, and the threads of the line are being looked through; unexplained: it still does after that, a possible gap; older: the same, but what is missing came before the mirror was made; ahead: it counts fewer, since texts were read elsewhere, and are read again.';
