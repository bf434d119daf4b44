-- Adds the columns that every mirrored table ends with.
create procedure warehouse.add_provenance(mirrored regclass) language plpgsql as $$
begin
  execute format($sql$
    alter table %1$s
      add column extra jsonb,
      add column content_hash text not null default '',
      add column source text not null,
      add column fetch_seq bigint not null,
      add column fetched_at timestamptz not null,
      add column first_seen_at timestamptz not null default now(),
      add column changed_at timestamptz not null default now(),
      add column deleted_at timestamptz,
      add column deleted_reason text;
    comment on column %1$s.extra is 'Keys of the answer that no column holds, as they came; URLs are redacted. NULL = none.';
    comment on column %1$s.content_hash is 'Hash of the mirrored values: equal means unchanged.';
    comment on column %1$s.source is 'The operation of the API that the row was read with.';
    comment on column %1$s.fetch_seq is 'Number of the read that wrote the row; an older read never replaces it. Of texts and legs, a read that finds the same writes nothing; nor does a search of calls.';
    comment on column %1$s.fetched_at is 'When that read began.';
    comment on column %1$s.first_seen_at is 'When the row was first mirrored.';
    comment on column %1$s.changed_at is 'When its content last changed.';
    comment on column %1$s.deleted_at is 'When a complete read no longer listed it; NULL while it exists.';
    comment on column %1$s.deleted_reason is 'The proof of the deletion.';
  $sql$, mirrored);
end $$;

create table warehouse.field_changes (
  change_id bigint generated always as identity primary key,
  entity text not null,
  entity_key text not null,
  field text not null,
  old_value text,
  new_value text,
  source text not null,
  observed_at timestamptz not null default now()
);
create index field_changes_of on warehouse.field_changes (entity, entity_key, observed_at);
comment on table warehouse.field_changes is 'Fields that the service changed after the row was first mirrored.';
comment on column warehouse.field_changes.change_id is 'Order of observation.';
comment on column warehouse.field_changes.entity is 'call, transcript, or a row of a list of the account: user, line.';
comment on column warehouse.field_changes.entity_key is 'Its key, as text.';
comment on column warehouse.field_changes.field is 'The column that changed.';
comment on column warehouse.field_changes.old_value is 'Value before, as text; NULL = not reported.';
comment on column warehouse.field_changes.new_value is 'Value after, as text; NULL = no longer reported.';
comment on column warehouse.field_changes.source is 'The operation that showed the change.';
comment on column warehouse.field_changes.observed_at is 'When the change was mirrored. It may have happened earlier.';

-- Directory

create table warehouse.users (
  user_id bigint primary key,
  username text,
  first_name text,
  last_name text,
  title text,
  email text,
  mobile text,
  company text,
  time_zone text,
  extension text
);
call warehouse.add_provenance('warehouse.users');
comment on table warehouse.users is 'Users of the account. With an OAuth login, only those that its user may see.';
comment on column warehouse.users.user_id is 'The user id used everywhere else.';
comment on column warehouse.users.username is 'Portal name; empty for a user without portal access.';
comment on column warehouse.users.first_name is 'First name.';
comment on column warehouse.users.last_name is 'Last name.';
comment on column warehouse.users.title is 'Job title, free text.';
comment on column warehouse.users.email is 'E-mail address. Personal data.';
comment on column warehouse.users.mobile is 'Personal number, not one of the account''s. Personal data.';
comment on column warehouse.users.company is 'The user''s company, or else the account''s name.';
comment on column warehouse.users.time_zone is 'IANA time zone.';
comment on column warehouse.users.extension is 'Dial-by-name extension.';

create table warehouse.user_endpoints (
  user_id bigint not null,
  kind text not null check (kind in ('extension', 'dial_extension', 'sip_line', 'number', 'voicemail')),
  endpoint text not null,
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity',
  primary key (user_id, kind, endpoint, valid_from)
);
create index user_endpoints_of on warehouse.user_endpoints (endpoint, kind, valid_from, valid_to);
comment on table warehouse.user_endpoints is 'Extensions, numbers and lines of users, with their periods. Calls keep the attribution of their time.';
comment on column warehouse.user_endpoints.user_id is 'The user.';
comment on column warehouse.user_endpoints.kind is 'extension, dial_extension, sip_line, number or voicemail.';
comment on column warehouse.user_endpoints.endpoint is 'The extension, number or name; numbers are normalised.';
comment on column warehouse.user_endpoints.valid_from is 'When a read first listed it for the user. If that was the first read of the user: -infinity, or the end of a previous user''s period.';
comment on column warehouse.user_endpoints.valid_to is 'When a read no longer listed it; infinity while it is valid.';

create table warehouse.sms_lines (
  line text primary key,
  name text,
  is_bulk_enabled boolean,
  is_unrestricted boolean,
  listed_as text
);
call warehouse.add_provenance('warehouse.sms_lines');
comment on table warehouse.sms_lines is 'Numbers of the account that can text.';
comment on column warehouse.sms_lines.line is 'The number, digits.';
comment on column warehouse.sms_lines.name is 'Caller-ID name; empty if none.';
comment on column warehouse.sms_lines.is_bulk_enabled is 'Registered for 10DLC bulk traffic; restricts nothing.';
comment on column warehouse.sms_lines.is_unrestricted is 'True when no users are assigned: everybody may use it.';
comment on column warehouse.sms_lines.listed_as is 'The number as the service lists it and requires it as the sender of a text.';

create table warehouse.sms_line_users (
  line text not null,
  user_id bigint not null,
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity',
  primary key (line, user_id, valid_from)
);
comment on table warehouse.sms_line_users is 'Users that a line is assigned to, and since when.';
comment on column warehouse.sms_line_users.line is 'The line.';
comment on column warehouse.sms_line_users.user_id is 'The user.';
comment on column warehouse.sms_line_users.valid_from is 'When a read first listed the assignment; -infinity if that was the first read of the line.';
comment on column warehouse.sms_line_users.valid_to is 'When a read no longer listed it; infinity while it is valid.';

create table warehouse.webhook_subscriptions (
  subscription_id bigint primary key,
  name text,
  description text,
  url_host text,
  event_type text,
  is_enabled boolean,
  is_ours boolean,
  created_at timestamptz,
  updated_at timestamptz
);
call warehouse.add_provenance('warehouse.webhook_subscriptions');
comment on table warehouse.webhook_subscriptions is 'Webhook subscriptions of the account, including those of other programs.';
comment on column warehouse.webhook_subscriptions.subscription_id is 'The subscription''s id.';
comment on column warehouse.webhook_subscriptions.name is 'Its name.';
comment on column warehouse.webhook_subscriptions.description is 'Its description.';
comment on column warehouse.webhook_subscriptions.url_host is 'Host that it delivers to; the address itself is a secret.';
comment on column warehouse.webhook_subscriptions.event_type is 'The event type that it fires on.';
comment on column warehouse.webhook_subscriptions.is_enabled is 'Whether events are delivered.';
comment on column warehouse.webhook_subscriptions.is_ours is 'Whether it delivers to this daemon.';
comment on column warehouse.webhook_subscriptions.created_at is 'When it was created at the service.';
comment on column warehouse.webhook_subscriptions.updated_at is 'When it was last changed at the service.';

-- Texts

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
  complete_read_at timestamptz,
  is_reread_owed boolean not null default false,
  unread_reread_at timestamptz,
  unread_reread_count integer,
  unread_reread_wait interval,
  unique (line, number, participants_key)
) with (fillfactor = 80);
create index sms_conversations_number on warehouse.sms_conversations (number);
create index sms_conversations_waiting on warehouse.sms_conversations (last_inbound_at) where last_direction = 'in' and deleted_at is null;
create index sms_conversations_settling on warehouse.sms_conversations (changed_at) where deleted_at is null;
create index sms_conversations_last_message on warehouse.sms_conversations (last_message_at) where deleted_at is null;
create index sms_conversations_newest on warehouse.sms_conversations (last_message_at desc nulls last) where deleted_at is null;
create index sms_conversations_groups on warehouse.sms_conversations (line) where participants_key <> '';
create index sms_conversations_members on warehouse.sms_conversations using gin (participants) where participants_key <> '';
comment on table warehouse.sms_conversations is 'Text conversations: one of the account''s lines with one other number, or with a group.';
comment on column warehouse.sms_conversations.conversation_id is 'Key within this warehouse; the service has no id.';
comment on column warehouse.sms_conversations.line is 'The account''s line.';
comment on column warehouse.sms_conversations.number is 'The other party; for a group, the first participant.';
comment on column warehouse.sms_conversations.participants_key is 'Empty, or the participants of a group thread, sorted and joined by commas.';
comment on column warehouse.sms_conversations.participants is 'Participants of a group thread besides the line; empty for two parties.';
comment on column warehouse.sms_conversations.discovered_via is 'How it was discovered: webhook, probe or import.';
comment on column warehouse.sms_conversations.first_message_at is 'Time of the oldest mirrored message.';
comment on column warehouse.sms_conversations.last_message_at is 'Time of the newest mirrored message.';
comment on column warehouse.sms_conversations.last_inbound_at is 'Newest message of the other party.';
comment on column warehouse.sms_conversations.last_outbound_at is 'Newest message of ours.';
comment on column warehouse.sms_conversations.last_direction is 'Direction of the newest message: in or out. None of these times counts reactions.';
comment on column warehouse.sms_conversations.message_count is 'Mirrored messages that are not deleted.';
comment on column warehouse.sms_conversations.is_resolved is 'As last observed; NULL = never observed. The API cannot read this state, so it is only known from answers to our own requests.';
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
comment on column warehouse.sms_conversations.changed_at is 'When one of its messages was last added, changed or removed.';
comment on column warehouse.sms_conversations.deleted_at is 'When it was proven deleted; NULL while it exists.';
comment on column warehouse.sms_conversations.deleted_reason is 'The proof of the deletion.';
comment on column warehouse.sms_conversations.complete_read_at is 'When a read last listed it to its end.';
comment on column warehouse.sms_conversations.is_reread_owed is 'Whether the next read must be complete, to find late receipts and deletions of older messages.';
comment on column warehouse.sms_conversations.unread_reread_at is 'When a complete read was last scheduled because the service counted fewer unread texts on the line than are mirrored.';
comment on column warehouse.sms_conversations.unread_reread_count is 'How many of its mirrored texts were unread at that time.';
comment on column warehouse.sms_conversations.unread_reread_wait is 'Wait until the next such read; doubled each time no text turned out to be read.';

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
  opt_out_verdict text check (opt_out_verdict in ('opt_out', 'opt_in', 'unsure', 'none')),
  is_reaction boolean,
  send_id uuid,
  is_read_by_others boolean not null default false,
  body_length integer,
  body_segment_count integer,
  primary key (conversation_id, message_id)
) with (fillfactor = 85);
call warehouse.add_provenance('warehouse.sms_messages');
create index sms_messages_sent_at on warehouse.sms_messages (sent_at);
create index sms_messages_number on warehouse.sms_messages (number, sent_at);
create index sms_messages_words on warehouse.sms_messages using gin (to_tsvector('simple', left(coalesce(body, ''), 10000)));
create index sms_messages_opt_outs on warehouse.sms_messages (number) where direction = 'in' and opt_out_verdict in ('opt_out', 'opt_in', 'unsure');
create index sms_messages_opt_out_senders on warehouse.sms_messages (from_number) where direction = 'in' and opt_out_verdict in ('opt_out', 'opt_in', 'unsure');
create index sms_messages_unsure on warehouse.sms_messages (first_seen_at) where direction = 'in' and opt_out_verdict = 'unsure';
create index sms_messages_id on warehouse.sms_messages using brin (message_id int8_minmax_multi_ops) with (autosummarize = on, pages_per_range = 32);
create index sms_messages_unread on warehouse.sms_messages (line, is_read_by_others) where direction = 'in' and is_read = false and deleted_at is null;
comment on table warehouse.sms_messages is 'Text messages, as listed in their threads.';
comment on column warehouse.sms_messages.conversation_id is 'The conversation.';
comment on column warehouse.sms_messages.message_id is 'The service''s id of the message.';
comment on column warehouse.sms_messages.line is 'The account''s line.';
comment on column warehouse.sms_messages.number is 'The other party; for a group, the first participant.';
comment on column warehouse.sms_messages.direction is 'in: they texted us; out: we texted them.';
comment on column warehouse.sms_messages.from_number is 'Sender.';
comment on column warehouse.sms_messages.to_number is 'Recipient.';
comment on column warehouse.sms_messages.body is 'The text; may be empty for an image. NULL = not reported, or removed by RETENTION_DAYS (then body_length is set).';
comment on column warehouse.sms_messages.media_count is 'Number of attached files; NULL = none listed. Their addresses are secret.';
comment on column warehouse.sms_messages.sent_at is 'When it was sent.';
comment on column warehouse.sms_messages.is_read is 'Whether the credential''s own user has read it; see sms_message_reads for the others.';
comment on column warehouse.sms_messages.sent_by is 'User who sent it; NULL for inbound and for integrations.';
comment on column warehouse.sms_messages.delivery_status is 'The carrier''s own status. NULL = not reported yet, which does not mean failed.';
comment on column warehouse.sms_messages.delivery_error is 'The carrier''s failure detail; empty on success.';
comment on column warehouse.sms_messages.delivery_at is 'When the carrier reported it.';
comment on column warehouse.sms_messages.group_participants is 'Participants of a group message as listed.';
comment on column warehouse.sms_messages.is_scheduled is 'Queued for later, not yet sent.';
comment on column warehouse.sms_messages.scheduled_at is 'When it is to be sent.';
comment on column warehouse.sms_messages.is_blocked is 'Not delivered because the other party is on the line''s block list. It was charged nevertheless.';
comment on column warehouse.sms_messages.block_reason is 'Why it was blocked.';
comment on column warehouse.sms_messages.opt_out_verdict is 'Whether an inbound text opts its sender out of automatic texts, decided when it was mirrored: opt_out, opt_in, unsure (may mean opt_out, so its sender gets no automatic text until a person decides) or none; NULL for outbound texts. In a group, the sender is from_number. Gates, reports and rule outcomes use this value.';
comment on column warehouse.sms_messages.is_reaction is 'Whether an inbound text is a phone''s reaction to another text, such as Liked “…” or 👍 to “…”, decided when it was mirrored; NULL for outbound texts. It neither opts out nor waits for an answer, and is no part of a turn.';
comment on column warehouse.sms_messages.send_id is 'The ledger''s send that produced it; NULL for texts by people and other integrations.';
comment on column warehouse.sms_messages.is_read_by_others is 'Whether another user had read it while is_read was false.';
comment on column warehouse.sms_messages.body_length is 'Length in characters of a body removed by RETENTION_DAYS; NULL if it was not removed.';
comment on column warehouse.sms_messages.body_segment_count is 'Segments of a body removed by RETENTION_DAYS, as estimated by reporting.sms_segments; NULL if it was not removed.';

create table warehouse.sms_message_delivery_events (
  conversation_id bigint not null,
  message_id bigint not null,
  observed_at timestamptz not null default clock_timestamp(),
  delivery_status text,
  delivery_error text,
  delivery_at timestamptz,
  primary key (conversation_id, message_id, observed_at)
);
comment on table warehouse.sms_message_delivery_events is 'Every carrier receipt, as first observed.';
comment on column warehouse.sms_message_delivery_events.conversation_id is 'The conversation.';
comment on column warehouse.sms_message_delivery_events.message_id is 'The message.';
comment on column warehouse.sms_message_delivery_events.observed_at is 'When it was mirrored.';
comment on column warehouse.sms_message_delivery_events.delivery_status is 'The carrier''s own status.';
comment on column warehouse.sms_message_delivery_events.delivery_error is 'The carrier''s failure detail.';
comment on column warehouse.sms_message_delivery_events.delivery_at is 'When the carrier reported it.';

create table warehouse.sms_message_reads (
  conversation_id bigint not null,
  message_id bigint not null,
  user_id bigint not null,
  first_seen_at timestamptz not null default now(),
  primary key (conversation_id, message_id, user_id)
);
comment on table warehouse.sms_message_reads is 'Users who have read a message, as listed by the service.';
comment on column warehouse.sms_message_reads.conversation_id is 'The conversation.';
comment on column warehouse.sms_message_reads.message_id is 'The message.';
comment on column warehouse.sms_message_reads.user_id is 'The reader.';
comment on column warehouse.sms_message_reads.first_seen_at is 'When a read first listed the user.';

create table warehouse.sms_conversation_events (
  event_id bigint generated always as identity primary key,
  conversation_id bigint not null,
  axis text not null check (axis in ('resolved', 'assigned', 'comment')),
  is_resolved boolean,
  user_id bigint,
  resolved_at timestamptz,
  actor text not null,
  observed_at timestamptz not null default clock_timestamp(),
  observed_via text not null,
  run_id bigint
);
create index sms_conversation_events_of on warehouse.sms_conversation_events (conversation_id, axis, observed_at);
comment on table warehouse.sms_conversation_events is 'States of conversations, from answers to our own requests. Changes made in the portal are missing, because no other answer shows them.';
comment on column warehouse.sms_conversation_events.event_id is 'Order of observation.';
comment on column warehouse.sms_conversation_events.conversation_id is 'The conversation.';
comment on column warehouse.sms_conversation_events.axis is 'resolved: it was resolved or reopened; assigned: to whom it was assigned; comment: an internal note was added.';
comment on column warehouse.sms_conversation_events.is_resolved is 'Resolved state; part of every answer.';
comment on column warehouse.sms_conversation_events.user_id is 'For resolved: the user credited, NULL for an integration. For assigned: the user, NULL = nobody.';
comment on column warehouse.sms_conversation_events.resolved_at is 'When it was resolved, according to the answer.';
comment on column warehouse.sms_conversation_events.actor is 'The rule that did it.';
comment on column warehouse.sms_conversation_events.observed_at is 'When the answer came.';
comment on column warehouse.sms_conversation_events.observed_via is 'The operation.';
comment on column warehouse.sms_conversation_events.run_id is 'The run in ops.rule_runs.';

create table warehouse.blocked_senders (
  line text not null,
  number text not null,
  reason text,
  blocked_at timestamptz,
  observed_at timestamptz not null default clock_timestamp(),
  observed_via text not null,
  primary key (line, number)
);
comment on table warehouse.blocked_senders is 'Senders known to be blocked, from answers to our own requests: the API cannot list them.';
comment on column warehouse.blocked_senders.line is 'The account''s line.';
comment on column warehouse.blocked_senders.number is 'The blocked party.';
comment on column warehouse.blocked_senders.reason is 'Stored with the block; the blocked party never sees it.';
comment on column warehouse.blocked_senders.blocked_at is 'When it was blocked.';
comment on column warehouse.blocked_senders.observed_at is 'When the answer came.';
comment on column warehouse.blocked_senders.observed_via is 'The operation.';

create table warehouse.contacts (
  number text primary key,
  name text,
  company text,
  owner text,
  language text,
  tags text[] not null default '{}',
  changed_at timestamptz not null default now()
);
comment on table warehouse.contacts is 'The owner''s list of customers, as `contacts import` read it.';
comment on column warehouse.contacts.number is 'The customer''s number, as warehouse.contact_number gives it.';
comment on column warehouse.contacts.name is 'The customer''s name.';
comment on column warehouse.contacts.company is 'The customer''s company.';
comment on column warehouse.contacts.owner is 'Who looks after the customer, in the words of the list.';
comment on column warehouse.contacts.language is 'ISO 639 code in lower case, without a region.';
comment on column warehouse.contacts.tags is 'Tags in lower case.';
comment on column warehouse.contacts.changed_at is 'When an import last changed the row.';

create table warehouse.sms_unread_snapshots (
  line text not null,
  observed_at timestamptz not null,
  reported_count integer not null,
  held_count integer not null,
  state text not null check (state in ('even', 'behind', 'unexplained', 'older', 'ahead')),
  unchanged_until timestamptz,
  primary key (line, observed_at)
);
comment on table warehouse.sms_unread_snapshots is 'Unread texts of each line: as counted by the service, and as mirrored. If the service counts more, a text may be missing.';
comment on column warehouse.sms_unread_snapshots.line is 'The line.';
comment on column warehouse.sms_unread_snapshots.observed_at is 'When the service was read.';
comment on column warehouse.sms_unread_snapshots.reported_count is 'Unread inbound texts that the service counts.';
comment on column warehouse.sms_unread_snapshots.held_count is 'Mirrored unread inbound texts, and those not stored because their sender was erased.';
comment on column warehouse.sms_unread_snapshots.state is 'even; behind: the service counts more, and the missing texts are being searched for; unexplained: they were not found; older: they are older than the mirror; ahead: the service counts fewer because texts were read elsewhere, so threads are read again.';
comment on column warehouse.sms_unread_snapshots.unchanged_until is 'When a read last found the same counts.';

-- Calls

create table warehouse.calls (
  call_id text primary key,
  call_epoch bigint generated always as (case when call_id ~ '^[0-9]{1,11}[.]' then split_part(call_id, '.', 1)::bigint end) stored,
  started_at timestamptz,
  ended_at timestamptz,
  direction text,
  status text,
  status_code smallint,
  caller_type text,
  caller_name text,
  caller_number text,
  called_type text,
  called_name text,
  called_number text,
  dialled_number text,
  caller_id_internal text,
  caller_id_external text,
  duration_seconds integer,
  talk_seconds integer,
  legs_wait_seconds integer,
  legs_ring_seconds integer,
  menu_seconds integer,
  reached text check (reached in ('menu', 'queue', 'rang', 'mailbox', 'person', 'unknown')),
  is_message_left boolean,
  message_seconds integer,
  abandoned_in text check (abandoned_in in ('menu', 'queue', 'ringing', 'unknown')),
  answered_user_id bigint,
  placed_user_id bigint,
  queue text,
  huntgroup text,
  transferred_count smallint,
  is_abandoned boolean,
  is_recorded boolean,
  called_back_call_id text,
  repeated_count smallint,
  external_number text,
  account_number text,
  is_internal boolean,
  reached_person boolean,
  legs_fetched_at timestamptz,
  leg_count smallint,
  recordings_fetched_at timestamptz,
  recording_count smallint,
  recordings_state text check (recordings_state in ('pending', 'complete', 'none', 'gone', 'forbidden')),
  transcripts_fetched_at timestamptz,
  transcript_count smallint,
  transcripts_state text check (transcripts_state in ('pending', 'complete', 'none', 'gone', 'forbidden')),
  is_erased boolean not null default false,
  legs_fetch_seq bigint
) with (fillfactor = 80);
call warehouse.add_provenance('warehouse.calls');
create index calls_started_at on warehouse.calls (started_at);
create index calls_external_number on warehouse.calls (external_number, started_at) include (direction, status, talk_seconds, call_id);
create index calls_unanswered on warehouse.calls (started_at) where status in ('missed', 'voicemail');
create index calls_erased on warehouse.calls (call_id) where is_erased;
comment on table warehouse.calls is 'Calls of the account.';
comment on column warehouse.calls.call_id is 'The service''s id. Always text: a number would lose its trailing zeros.';
comment on column warehouse.calls.call_epoch is 'The Unix second in the call id; NULL if the id has another format.';
comment on column warehouse.calls.started_at is 'Start.';
comment on column warehouse.calls.ended_at is 'End; NULL for a call with no recorded end.';
comment on column warehouse.calls.direction is 'inbound or outbound.';
comment on column warehouse.calls.status is 'answered, missed, voicemail or unknown, as reported.';
comment on column warehouse.calls.status_code is '-1 missed, 0 voicemail, 1 answered, above 1 answered by that many people.';
comment on column warehouse.calls.caller_type is 'external, user, queue or huntgroup.';
comment on column warehouse.calls.caller_name is 'Caller''s name.';
comment on column warehouse.calls.caller_number is 'Caller''s number; an extension on an internal leg.';
comment on column warehouse.calls.called_type is 'external, user, queue or huntgroup.';
comment on column warehouse.calls.called_name is 'Called party''s name.';
comment on column warehouse.calls.called_number is 'Called party''s number; an extension on an internal leg.';
comment on column warehouse.calls.dialled_number is 'The dialled number; for inbound calls, the account''s number.';
comment on column warehouse.calls.caller_id_internal is 'Caller id shown inside.';
comment on column warehouse.calls.caller_id_external is 'Caller id shown outside.';
comment on column warehouse.calls.duration_seconds is 'Length including ringing.';
comment on column warehouse.calls.talk_seconds is 'Connected time; 0 on a missed call.';
comment on column warehouse.calls.legs_wait_seconds is 'For an inbound call, how long the caller waited according to the legs: from entering the first queue or huntgroup, or else from the start of the call, until the first answered leg was connected, the mailbox answered or the call ended. NULL = no legs, or not known from them.';
comment on column warehouse.calls.legs_ring_seconds is 'According to the legs, how long telephones rang until the first answered leg was connected, the mailbox answered or the call ended. Inbound: telephones of users, 0 if none rang. Outbound: the other party''s. NULL = no legs, or not known from them.';
comment on column warehouse.calls.menu_seconds is 'For an inbound call, how long the caller was in menus according to the legs: until the first leg to a user, queue, huntgroup, mailbox or outside party began, or the call ended. NULL = no legs, or not known from them.';
comment on column warehouse.calls.reached is 'The furthest point of the call: person (somebody answered), mailbox (ended in one), rang (somebody''s telephone; not a leg between two outside parties), queue (or huntgroup), menu (nothing but a menu). From the legs; if none has a type, from called_type. unknown: neither tells; or there are no legs and the status means neither person nor mailbox; or nobody answered an outbound call.';
comment on column warehouse.calls.is_message_left is 'Whether the caller left a message: a mailbox recorded it, or was connected for three seconds or more.';
comment on column warehouse.calls.message_seconds is 'How long mailboxes were connected according to the legs; or else the talk time of a voicemail that passed no menu. NULL = no mailbox, or not reported.';
comment on column warehouse.calls.abandoned_in is 'How far the caller of an abandoned inbound call got: menu, queue (or huntgroup), ringing (somebody''s telephone) or unknown. Also menu for a missed call that never left the menu according to its legs. NULL = not abandoned.';
comment on column warehouse.calls.answered_user_id is 'User who answered first: from the legs, or else from the call''s own ends. NULL = none, or it is unknown who had the extension.';
comment on column warehouse.calls.placed_user_id is 'User who placed the call. NULL = none, or it is unknown who had the extension.';
comment on column warehouse.calls.queue is 'The queue that the call was answered from, or else the last queue that it entered. Its number, or its name if it has none. NULL = none.';
comment on column warehouse.calls.huntgroup is 'The same for huntgroups.';
comment on column warehouse.calls.transferred_count is 'How often it was transferred.';
comment on column warehouse.calls.is_abandoned is 'The caller hung up before anyone answered.';
comment on column warehouse.calls.is_recorded is 'Whether audio was recorded. Stays true after the recording is deleted.';
comment on column warehouse.calls.called_back_call_id is 'The call that returned this abandoned one.';
comment on column warehouse.calls.repeated_count is 'Earlier calls from the same caller within the service''s window.';
comment on column warehouse.calls.external_number is 'The other party''s number, normalised; NULL on internal calls.';
comment on column warehouse.calls.account_number is 'The account''s own number on the call, normalised.';
comment on column warehouse.calls.is_internal is 'True when both ends belong to the account: the other party has an extension, or a number of the account.';
comment on column warehouse.calls.reached_person is 'True when a person answered, false when none did; NULL = the status does not say.';
comment on column warehouse.calls.legs_fetched_at is 'When the legs were last read.';
comment on column warehouse.calls.leg_count is 'Number of mirrored legs; NULL = never read.';
comment on column warehouse.calls.recordings_fetched_at is 'When the recordings were last read.';
comment on column warehouse.calls.recording_count is 'Number of mirrored recordings; NULL = never read.';
comment on column warehouse.calls.recordings_state is 'pending: read again later; complete: mirrored; none: not recorded; gone: recorded, but no longer listed; forbidden: the credential may not read them. NULL = not read yet.';
comment on column warehouse.calls.transcripts_fetched_at is 'When the transcripts were last read.';
comment on column warehouse.calls.transcript_count is 'Number of mirrored transcripts; NULL = never read.';
comment on column warehouse.calls.transcripts_state is 'As recordings_state, for transcripts.';
comment on column warehouse.calls.is_erased is 'An erased person took part. Their names and numbers, and the call''s links and transcripts, were removed.';
comment on column warehouse.calls.legs_fetch_seq is 'Number of the read that the legs come from; NULL before the first.';

create table warehouse.call_legs (
  call_id text not null,
  leg_key text not null,
  ordinal smallint not null,
  unique_id text,
  leg_call_id text,
  bridged_from_call_id text,
  started_at timestamptz,
  ended_at timestamptz,
  direction text,
  status text,
  caller_type text,
  caller_name text,
  caller_number text,
  called_type text,
  called_name text,
  called_number text,
  duration_seconds integer,
  talk_seconds integer,
  is_recorded boolean,
  primary key (call_id, leg_key)
) with (fillfactor = 85);
call warehouse.add_provenance('warehouse.call_legs');
comment on table warehouse.call_legs is 'Legs of a call, in the order listed. The API does not document their fields: each is NULL unless reported. Unknown keys are in extra.';
comment on column warehouse.call_legs.call_id is 'The call.';
comment on column warehouse.call_legs.leg_key is 'The leg''s uniqueId, or # and its position if it has none.';
comment on column warehouse.call_legs.ordinal is 'Position in the answer, from 1.';
comment on column warehouse.call_legs.unique_id is 'The leg''s uniqueId.';
comment on column warehouse.call_legs.leg_call_id is 'The leg''s own call id, which can differ on transferred calls.';
comment on column warehouse.call_legs.bridged_from_call_id is 'Call id of the leg that it was bridged from.';
comment on column warehouse.call_legs.started_at is 'Start of the leg.';
comment on column warehouse.call_legs.ended_at is 'End of the leg.';
comment on column warehouse.call_legs.direction is 'Direction of the leg.';
comment on column warehouse.call_legs.status is 'Status as reported.';
comment on column warehouse.call_legs.caller_type is 'Kind of caller.';
comment on column warehouse.call_legs.caller_name is 'Caller''s name.';
comment on column warehouse.call_legs.caller_number is 'Caller''s number or extension.';
comment on column warehouse.call_legs.called_type is 'Kind of called party.';
comment on column warehouse.call_legs.called_name is 'Called party''s name.';
comment on column warehouse.call_legs.called_number is 'Called party''s number or extension.';
comment on column warehouse.call_legs.duration_seconds is 'Length including ringing.';
comment on column warehouse.call_legs.talk_seconds is 'Connected time.';
comment on column warehouse.call_legs.is_recorded is 'Whether audio was captured.';

create table warehouse.recordings (
  call_id text not null,
  unique_id text not null,
  leg_call_id text,
  started_at timestamptz,
  duration_seconds integer,
  talk_seconds integer,
  from_endpoint text,
  to_endpoint text,
  primary key (call_id, unique_id)
);
call warehouse.add_provenance('warehouse.recordings');
comment on table warehouse.recordings is 'Recorded legs of calls. Their links are in the schema secrets.';
comment on column warehouse.recordings.call_id is 'The call whose recordings were read.';
comment on column warehouse.recordings.unique_id is 'The recorded leg.';
comment on column warehouse.recordings.leg_call_id is 'The leg''s call id; on a transferred call it can differ from call_id.';
comment on column warehouse.recordings.started_at is 'Start of the leg.';
comment on column warehouse.recordings.duration_seconds is 'Length including ringing.';
comment on column warehouse.recordings.talk_seconds is 'Connected time.';
comment on column warehouse.recordings.from_endpoint is 'Caller; an extension on an internal leg.';
comment on column warehouse.recordings.to_endpoint is 'Called party; an extension on an internal leg.';

create table warehouse.transcripts (
  transcript_id bigint primary key,
  call_id text not null,
  recording_file text,
  leg_unique_id text,
  leg_pairing text not null default 'none' check (leg_pairing in ('exact', 'substring', 'single_leg', 'ambiguous', 'none')),
  segment_count integer,
  short_summary text,
  bullet_points text[],
  call_purpose text,
  call_sentiment text,
  csat_score integer,
  csat_note text,
  agent_performance_score integer,
  agent_performance_note text,
  is_action_required boolean,
  action_required_note text,
  is_urgent_action_required boolean,
  urgent_action_required_note text,
  agent_name text,
  agent_speaker integer,
  agent_talk_seconds double precision,
  customer_talk_seconds double precision
);
call warehouse.add_provenance('warehouse.transcripts');
create index transcripts_call on warehouse.transcripts (call_id);
comment on table warehouse.transcripts is 'The service''s analysis of a recorded leg. A NULL score means not analysed; it does not mean zero.';
comment on column warehouse.transcripts.transcript_id is 'The service''s id.';
comment on column warehouse.transcripts.call_id is 'The call, shared by all its transcripts.';
comment on column warehouse.transcripts.recording_file is 'Name of the audio file; contains the leg''s uniqueId without its dot.';
comment on column warehouse.transcripts.leg_unique_id is 'The recorded leg it belongs to; NULL = unknown (never guessed).';
comment on column warehouse.transcripts.leg_pairing is 'How the leg was found: exact, substring, single_leg; ambiguous or none = not found.';
comment on column warehouse.transcripts.segment_count is 'Utterances.';
comment on column warehouse.transcripts.short_summary is 'Summary; NULL when summarisation did not run. RETENTION_DAYS removes it together with the main points and all notes.';
comment on column warehouse.transcripts.bullet_points is 'Main points.';
comment on column warehouse.transcripts.call_purpose is 'The account''s own vocabulary.';
comment on column warehouse.transcripts.call_sentiment is 'The account''s own vocabulary.';
comment on column warehouse.transcripts.csat_score is 'Customer satisfaction; NULL = not analysed.';
comment on column warehouse.transcripts.csat_note is 'Why that score.';
comment on column warehouse.transcripts.agent_performance_score is 'Agent performance; NULL = not analysed.';
comment on column warehouse.transcripts.agent_performance_note is 'Why that score.';
comment on column warehouse.transcripts.is_action_required is 'Somebody should act; NULL = not analysed.';
comment on column warehouse.transcripts.action_required_note is 'What to do.';
comment on column warehouse.transcripts.is_urgent_action_required is 'Somebody should act at once; NULL = not analysed.';
comment on column warehouse.transcripts.urgent_action_required_note is 'What to do.';
comment on column warehouse.transcripts.agent_name is 'Agent''s name as the analysis heard it.';
comment on column warehouse.transcripts.agent_speaker is 'Which speaker is the agent; NULL = undetermined. Not an identity.';
comment on column warehouse.transcripts.agent_talk_seconds is 'Time the agent spoke; NULL when the agent is undetermined.';
comment on column warehouse.transcripts.customer_talk_seconds is 'Time others spoke; NULL when the agent is undetermined.';

create table ops.search_state (
  is_only boolean default true primary key check (is_only),
  language text not null default 'pg_catalog.simple',
  previous text
);
comment on table ops.search_state is 'The language in which texts and transcripts are searched; one row. Workers set it from SEARCH_LANGUAGE.';
comment on column ops.search_state.is_only is 'There is one row.';
comment on column ops.search_state.language is 'Text search configuration of the index of texts and of new transcripts.';
comment on column ops.search_state.previous is 'The previous configuration, while some transcripts still use it; otherwise NULL.';
insert into ops.search_state default values;

create function ops.search_language() returns text
language sql stable as $$ select language from ops.search_state $$;
comment on function ops.search_language is 'ops.search_state.language, for new rows.';

-- A configuration that is named with its schema is the same in every session: a generated column may use it. A column of type
-- regconfig would keep pg_upgrade from the database.
create function ops.words_of(language text, body text) returns tsvector
language plpgsql immutable parallel safe as $$ begin return to_tsvector(language::regconfig, left(body, 200000)); end $$;
comment on function ops.words_of is 'The words of a transcript for full-text search.';

create table warehouse.transcript_bodies (
  transcript_id bigint primary key,
  segments jsonb not null,
  full_text text not null,
  words_language text not null default ops.search_language(),
  words tsvector generated always as (ops.words_of(words_language, full_text)) stored,
  fetch_seq bigint not null
);
create index transcript_bodies_words on warehouse.transcript_bodies using gin (words);
comment on table warehouse.transcript_bodies is 'The words of transcripts, in a separate table so that reports scan short rows. RETENTION_DAYS deletes them.';
comment on column warehouse.transcript_bodies.transcript_id is 'The transcript.';
comment on column warehouse.transcript_bodies.segments is 'Utterances in time order: start, end, speaker, text.';
comment on column warehouse.transcript_bodies.full_text is 'All utterances, one a line.';
comment on column warehouse.transcript_bodies.words_language is 'Text search configuration of words.';
comment on column warehouse.transcript_bodies.words is 'For full-text search: words @@ plainto_tsquery(words_language::regconfig, ''refund''); reporting.search uses its index.';
comment on column warehouse.transcript_bodies.fetch_seq is 'Number of the read that wrote it.';

create table warehouse.transcript_kpis (
  transcript_id bigint not null,
  ordinal smallint not null,
  kpi_name text not null,
  kpi_value integer,
  kpi_note text,
  primary key (transcript_id, ordinal)
);
comment on table warehouse.transcript_kpis is 'The account''s own KPIs of a call.';
comment on column warehouse.transcript_kpis.transcript_id is 'The transcript.';
comment on column warehouse.transcript_kpis.ordinal is 'Position in the answer, from 1.';
comment on column warehouse.transcript_kpis.kpi_name is 'Name of the KPI.';
comment on column warehouse.transcript_kpis.kpi_value is 'Value; NULL = not scored.';
comment on column warehouse.transcript_kpis.kpi_note is 'Why that value.';

create table warehouse.call_attributions (
  call_id text not null,
  kind text not null check (kind in ('user', 'queue', 'huntgroup', 'extension', 'number')),
  endpoint text not null,
  role text not null check (role in ('answered', 'rang', 'placed', 'entered', 'transferred_to', 'transferred_out', 'touched')),
  started_at timestamptz not null,
  user_id bigint,
  talk_seconds integer,
  source text not null check (source in ('legs', 'summary', 'search_filter')),
  primary key (call_id, kind, endpoint, role)
);
create index call_attributions_uncredited on warehouse.call_attributions (endpoint) where user_id is null and kind = 'extension';
create index call_attributions_touched on warehouse.call_attributions (started_at) where role = 'touched';
comment on table warehouse.call_attributions is 'The extensions that answered a call, rang, placed it or received it by transfer, and the queues and huntgroups it entered. Only for calls that were read with their legs, or listed by a filtered search.';
comment on column warehouse.call_attributions.call_id is 'The call.';
comment on column warehouse.call_attributions.kind is 'extension, queue, huntgroup or number; user where a search by user listed the call.';
comment on column warehouse.call_attributions.endpoint is 'The extension or number; the name of a queue or huntgroup without a number; the id of a user. At most 200 characters.';
comment on column warehouse.call_attributions.role is 'answered; rang (without answering); placed; entered; transferred_to; transferred_out (transferred the call); touched: took part in an unknown way, known only from a filtered search.';
comment on column warehouse.call_attributions.started_at is 'Start of the call.';
comment on column warehouse.call_attributions.user_id is 'The user who had the extension when the call started; NULL = unknown, or several.';
comment on column warehouse.call_attributions.talk_seconds is 'Connected time of this endpoint; NULL if no leg reports it.';
comment on column warehouse.call_attributions.source is 'legs; summary: caller and called party of the call, if its legs lack these fields; search_filter: a search filtered by this endpoint listed the call.';
