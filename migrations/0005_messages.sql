create table warehouse.sms_conversations (
  conversation_id bigint generated always as identity primary key,
  line text not null,
  number text not null,
  participants_key text not null default '',
  participants text[] not null default '{}',
  discovered_via text not null,
  first_message_at timestamptz,
  last_message_at timestamptz,
  last_inbound_at timestamptz,
  last_outbound_at timestamptz,
  last_direction text,
  message_count integer not null default 0,
  is_resolved boolean,
  resolved_by bigint,
  resolved_at timestamptz,
  resolved_observed_at timestamptz,
  resolved_observed_via text,
  assigned_user_id bigint,
  is_assignment_known boolean not null default false,
  assigned_observed_at timestamptz,
  assigned_observed_via text,
  thread_fetched_at timestamptz,
  is_thread_complete boolean not null default false,
  fetch_seq bigint not null default 0,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  deleted_at timestamptz,
  deleted_reason text,
  unique (line, number, participants_key)
) with (fillfactor = 80);
create index sms_conversations_number on warehouse.sms_conversations (number);
create index sms_conversations_waiting on warehouse.sms_conversations (last_inbound_at) where last_direction = 'in' and deleted_at is null;

comment on table warehouse.sms_conversations is 'Text conversations: one of the account''s lines with one other number, or with a group.';
comment on column warehouse.sms_conversations.conversation_id is 'Key within this warehouse; the service has none.';
comment on column warehouse.sms_conversations.line is 'The account''s line.';
comment on column warehouse.sms_conversations.number is 'The other party; of a group, the first participant.';
comment on column warehouse.sms_conversations.participants_key is 'Empty, or the participants of a group thread, sorted and joined by commas.';
comment on column warehouse.sms_conversations.participants is 'Participants of a group thread besides the line; empty for two parties.';
comment on column warehouse.sms_conversations.discovered_via is 'How the daemon learned of it: webhook, probe, import.';
comment on column warehouse.sms_conversations.first_message_at is 'Oldest message held.';
comment on column warehouse.sms_conversations.last_message_at is 'Newest message held.';
comment on column warehouse.sms_conversations.last_inbound_at is 'Newest message of the other party.';
comment on column warehouse.sms_conversations.last_outbound_at is 'Newest message of ours.';
comment on column warehouse.sms_conversations.last_direction is 'Direction of the newest message: in or out.';
comment on column warehouse.sms_conversations.message_count is 'Messages held that still exist.';
comment on column warehouse.sms_conversations.is_resolved is 'NULL = never observed: the API cannot read this state, it is only told by our own calls'' answers.';
comment on column warehouse.sms_conversations.resolved_by is 'User credited with the resolve; NULL when an integration did.';
comment on column warehouse.sms_conversations.resolved_at is 'When it was resolved.';
comment on column warehouse.sms_conversations.resolved_observed_at is 'When is_resolved was observed.';
comment on column warehouse.sms_conversations.resolved_observed_via is 'Operation whose answer showed it.';
comment on column warehouse.sms_conversations.assigned_user_id is 'User it is assigned to; meaningful only when is_assignment_known.';
comment on column warehouse.sms_conversations.is_assignment_known is 'Whether the assignment was ever observed.';
comment on column warehouse.sms_conversations.assigned_observed_at is 'When the assignment was observed.';
comment on column warehouse.sms_conversations.assigned_observed_via is 'Operation whose answer showed it.';
comment on column warehouse.sms_conversations.thread_fetched_at is 'When its messages were last read.';
comment on column warehouse.sms_conversations.is_thread_complete is 'Whether one read has listed the thread to its end.';
comment on column warehouse.sms_conversations.fetch_seq is 'Number of the newest read applied.';
comment on column warehouse.sms_conversations.first_seen_at is 'When it was first mirrored.';
comment on column warehouse.sms_conversations.changed_at is 'When a message of it was last added, changed or removed.';
comment on column warehouse.sms_conversations.deleted_at is 'When it was proven deleted; NULL while it exists.';
comment on column warehouse.sms_conversations.deleted_reason is 'The proof of the deletion.';

create table warehouse.sms_messages (
  conversation_id bigint not null,
  message_id bigint not null,
  line text not null,
  number text not null,
  direction text,
  from_number text,
  to_number text,
  body text,
  media_count integer,
  sent_at timestamptz,
  is_read boolean,
  sent_by bigint,
  delivery_status text,
  delivery_error text,
  delivery_at timestamptz,
  group_participants text[],
  is_scheduled boolean,
  scheduled_at timestamptz,
  is_blocked boolean,
  block_reason text,
  send_id uuid,
  primary key (conversation_id, message_id)
) with (fillfactor = 85);
call warehouse.add_provenance('warehouse.sms_messages');
create index sms_messages_sent_at on warehouse.sms_messages (sent_at);
create index sms_messages_number on warehouse.sms_messages (number, sent_at);

comment on table warehouse.sms_messages is 'Text messages, as the thread lists them.';
comment on column warehouse.sms_messages.conversation_id is 'The conversation.';
comment on column warehouse.sms_messages.message_id is 'The service''s id of the message.';
comment on column warehouse.sms_messages.line is 'The account''s line.';
comment on column warehouse.sms_messages.number is 'The other party; of a group, the first participant.';
comment on column warehouse.sms_messages.direction is 'in: they texted us; out: we texted them.';
comment on column warehouse.sms_messages.from_number is 'Sender.';
comment on column warehouse.sms_messages.to_number is 'Recipient.';
comment on column warehouse.sms_messages.body is 'Text; may be empty for an image.';
comment on column warehouse.sms_messages.media_count is 'Attached files, NULL when none were listed; their addresses are secrets.';
comment on column warehouse.sms_messages.sent_at is 'When it was sent.';
comment on column warehouse.sms_messages.is_read is 'Whether the credential''s own user has read it; see sms_message_reads for the others.';
comment on column warehouse.sms_messages.sent_by is 'User who sent it; NULL for inbound and for integrations.';
comment on column warehouse.sms_messages.delivery_status is 'The carrier''s own word. NULL = not reported yet, which is no failure.';
comment on column warehouse.sms_messages.delivery_error is 'The carrier''s failure detail; empty on success.';
comment on column warehouse.sms_messages.delivery_at is 'When the carrier reported it.';
comment on column warehouse.sms_messages.group_participants is 'Participants of a group message as listed.';
comment on column warehouse.sms_messages.is_scheduled is 'Queued for later, not yet sent.';
comment on column warehouse.sms_messages.scheduled_at is 'When it is to be sent.';
comment on column warehouse.sms_messages.is_blocked is 'Not delivered because the other party is on the line''s block list; it was charged all the same.';
comment on column warehouse.sms_messages.block_reason is 'Why it was blocked.';
comment on column warehouse.sms_messages.send_id is 'The ledger''s send that produced it; NULL for people and other integrations.';

create table warehouse.sms_message_delivery_events (
  conversation_id bigint not null,
  message_id bigint not null,
  observed_at timestamptz not null default clock_timestamp(),
  delivery_status text,
  delivery_error text,
  delivery_at timestamptz,
  primary key (conversation_id, message_id, observed_at)
);
comment on table warehouse.sms_message_delivery_events is 'Every carrier receipt as it was first observed.';
comment on column warehouse.sms_message_delivery_events.conversation_id is 'The conversation.';
comment on column warehouse.sms_message_delivery_events.message_id is 'The message.';
comment on column warehouse.sms_message_delivery_events.observed_at is 'When the daemon saw it.';
comment on column warehouse.sms_message_delivery_events.delivery_status is 'The carrier''s own word.';
comment on column warehouse.sms_message_delivery_events.delivery_error is 'The carrier''s failure detail.';
comment on column warehouse.sms_message_delivery_events.delivery_at is 'When the carrier reported it.';

create function warehouse.note_delivery_events() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into warehouse.sms_message_delivery_events (conversation_id, message_id, delivery_status, delivery_error, delivery_at)
    select conversation_id, message_id, delivery_status, delivery_error, delivery_at
    from new_rows where num_nonnulls(delivery_status, delivery_error, delivery_at) > 0;
  else
    insert into warehouse.sms_message_delivery_events (conversation_id, message_id, delivery_status, delivery_error, delivery_at)
    select n.conversation_id, n.message_id, n.delivery_status, n.delivery_error, n.delivery_at
    from new_rows n join old_rows o using (conversation_id, message_id)
    where n.content_hash <> o.content_hash
      and (n.delivery_status, n.delivery_error, n.delivery_at) is distinct from (o.delivery_status, o.delivery_error, o.delivery_at);
  end if;
  return null;
end $$;
comment on function warehouse.note_delivery_events is 'Appends a carrier receipt whenever a message''s differs from the one held.';
create trigger note_first_receipt after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function warehouse.note_delivery_events();
create trigger note_receipt after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_delivery_events();

create table warehouse.sms_message_reads (
  conversation_id bigint not null,
  message_id bigint not null,
  user_id bigint not null,
  first_seen_at timestamptz not null default now(),
  primary key (conversation_id, message_id, user_id)
);
comment on table warehouse.sms_message_reads is 'Users who had read a message when the daemon looked.';
comment on column warehouse.sms_message_reads.conversation_id is 'The conversation.';
comment on column warehouse.sms_message_reads.message_id is 'The message.';
comment on column warehouse.sms_message_reads.user_id is 'The reader.';
comment on column warehouse.sms_message_reads.first_seen_at is 'When the daemon first saw it read.';

create table secrets.message_media (
  conversation_id bigint not null,
  message_id bigint not null,
  ordinal smallint not null,
  url text not null,
  first_seen_at timestamptz not null default now(),
  primary key (conversation_id, message_id, ordinal)
);
comment on table secrets.message_media is 'Addresses of attached files; anyone holding one can fetch the file.';
comment on column secrets.message_media.conversation_id is 'The conversation.';
comment on column secrets.message_media.message_id is 'The message.';
comment on column secrets.message_media.ordinal is 'Position in the message, from 1.';
comment on column secrets.message_media.url is 'The address.';
comment on column secrets.message_media.first_seen_at is 'When it was first mirrored.';
