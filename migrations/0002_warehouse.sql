-- The last columns of every mirrored table: `like` below copies them.
create table warehouse.provenance (
  extra jsonb, -- Keys of the answer that no column holds, as they came; URLs are redacted. NULL = none.
  content_hash text not null default '', -- Hash of the mirrored values: equal means unchanged.
  source text not null, -- The operation of the API that the row was read with.
  -- Number of the read that wrote the row; an older read never replaces it. Reads of texts and legs, and searches of calls, write nothing
  -- if they find no change.
  fetch_seq bigint not null,
  fetched_at timestamptz not null, -- When that read began.
  first_seen_at timestamptz not null default now(), -- When the row was first mirrored.
  changed_at timestamptz not null default now(), -- When its content last changed.
  deleted_at timestamptz, -- When a complete read no longer listed it; NULL while it exists.
  deleted_reason text -- The proof of the deletion.
);

-- Directory

-- Users of the account.
create table warehouse.users (
  user_id bigint primary key, -- The user id used everywhere else.
  username text, -- Portal name; empty for a user without portal access.
  first_name text, -- First name.
  last_name text, -- Last name.
  title text, -- Job title, free text.
  email text, -- E-mail address. Personal data.
  mobile text, -- Personal number, not one of the account's. Personal data.
  company text, -- The user's company, or else the account's name.
  time_zone text, -- IANA time zone.
  extension text, -- Dial-by-name extension.
  like warehouse.provenance including defaults including comments
);

-- Extensions, numbers and lines of users, with their periods. Calls keep the attribution of their time.
create table warehouse.user_endpoints (
  user_id bigint not null, -- The user.
  -- extension, dial_extension, sip_line, number or voicemail.
  kind text not null check (kind in ('extension', 'dial_extension', 'sip_line', 'number', 'voicemail')),
  endpoint text not null, -- The extension, number or name; numbers are normalised.
  -- When a read first listed it for the user. If that was the first read of the user: -infinity, or the end of a previous user's period.
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity', -- When a read no longer listed it; infinity while it is valid.
  primary key (user_id, kind, endpoint, valid_from)
);
create index user_endpoints_of on warehouse.user_endpoints (endpoint, kind, valid_from, valid_to);

-- Numbers of the account that can text.
create table warehouse.sms_lines (
  line text primary key, -- The number, digits.
  name text, -- Caller-ID name; empty if none.
  is_bulk_enabled boolean, -- Registered for 10DLC bulk traffic; restricts nothing.
  is_unrestricted boolean, -- True when no users are assigned: everybody may use it.
  listed_as text, -- The number as the service lists it and requires it as the sender of a text.
  like warehouse.provenance including defaults including comments
);

-- Users that a line is assigned to, and since when.
create table warehouse.sms_line_users (
  line text not null, -- The line.
  user_id bigint not null, -- The user.
  -- When a read first listed the assignment; -infinity if that was the first read of the line.
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity', -- When a read no longer listed it; infinity while it is valid.
  primary key (line, user_id, valid_from)
);

-- Texts

-- Text conversations: one of the account's lines with one other number, or with a group.
create table warehouse.sms_conversations (
  conversation_id bigint generated always as identity primary key, -- Key within this warehouse; the service has no id.
  line text not null, -- The account's line.
  number text not null, -- The other party; for a group, the first participant.
  participants_key text not null default '', -- Empty, or the participants of a group thread, sorted and joined by commas.
  participants text[] not null default '{}', -- Participants of a group thread besides the line; empty for two parties.
  first_message_at timestamptz, -- Time of the oldest mirrored message.
  last_message_at timestamptz, -- Time of the newest mirrored message.
  last_inbound_at timestamptz, -- Newest message of the other party.
  last_outbound_at timestamptz, -- Newest message of ours.
  last_direction text, -- Direction of the newest message: in or out. None of these times counts reactions.
  message_count integer not null default 0, -- Mirrored messages that aren't deleted.
  -- As last observed; NULL = never observed. The API can't read this state, so it is only known from answers to our own requests.
  is_resolved boolean,
  resolved_by bigint, -- User credited with the resolve; NULL when an integration did.
  resolved_at timestamptz, -- When it was resolved.
  resolved_observed_at timestamptz, -- When is_resolved was observed.
  resolved_observed_via text, -- Operation whose answer showed it.
  assigned_user_id bigint, -- User it is assigned to; meaningful only when is_assignment_known.
  is_assignment_known boolean not null default false, -- Whether the assignment was ever observed.
  assigned_observed_at timestamptz, -- When the assignment was observed.
  assigned_observed_via text, -- Operation whose answer showed it.
  thread_fetched_at timestamptz, -- When its messages were last read.
  is_thread_complete boolean not null default false, -- Whether one read has listed the thread to its end.
  fetch_seq bigint not null default 0, -- Number of the newest read applied.
  first_seen_at timestamptz not null default now(), -- When it was first mirrored.
  changed_at timestamptz not null default now(), -- When one of its messages was last added, changed or removed.
  deleted_at timestamptz, -- When it was proven deleted; NULL while it exists.
  deleted_reason text, -- The proof of the deletion.
  complete_read_at timestamptz, -- When a read last listed it to its end.
  -- Whether the next read must be complete, to find late receipts and deletions of older messages.
  is_reread_owed boolean not null default false,
  -- When a complete read was last scheduled because the service counted fewer unread texts on the line than are mirrored.
  unread_reread_at timestamptz,
  unread_reread_count integer, -- How many of its mirrored texts were unread at that time.
  unread_reread_wait interval, -- Wait until the next such read; doubled each time no text turned out to be read.
  unique (line, number, participants_key)
) with (fillfactor = 80);
create index sms_conversations_number on warehouse.sms_conversations (number);
create index sms_conversations_waiting on warehouse.sms_conversations (last_inbound_at) where last_direction = 'in' and deleted_at is null;
create index sms_conversations_settling on warehouse.sms_conversations (changed_at) where deleted_at is null;
create index sms_conversations_last_message on warehouse.sms_conversations (last_message_at) where deleted_at is null;
create index sms_conversations_newest on warehouse.sms_conversations (last_message_at desc nulls last) where deleted_at is null;
create index sms_conversations_groups on warehouse.sms_conversations (line) where participants_key <> '';
create index sms_conversations_members on warehouse.sms_conversations using gin (participants) where participants_key <> '';

-- Text messages, as listed in their threads.
create table warehouse.sms_messages (
  conversation_id bigint not null, -- The conversation.
  message_id bigint not null, -- The service's id of the message.
  line text not null, -- The account's line.
  number text not null, -- The other party; for a group, the first participant.
  direction text, -- in: they texted us; out: we texted them.
  from_number text, -- Sender.
  to_number text, -- Recipient.
  body text, -- The text; may be empty for an image. NULL = not reported, or removed by RETENTION_DAYS (then body_length is set).
  media_count integer, -- Number of attached files; NULL = none listed. Their addresses are secret.
  sent_at timestamptz, -- When it was sent.
  is_read boolean, -- Whether the credential's own user has read it; see sms_message_reads for the others.
  sent_by bigint, -- User who sent it; NULL for inbound and for integrations.
  delivery_status text, -- The carrier's own status. NULL = not reported yet, which doesn't mean failed.
  delivery_error text, -- The carrier's failure detail; empty on success.
  delivery_at timestamptz, -- When the carrier reported it.
  group_participants text[], -- Participants of a group message as listed.
  is_scheduled boolean, -- Queued for later, not yet sent.
  scheduled_at timestamptz, -- When it is to be sent.
  is_blocked boolean, -- Not delivered because the other party is on the line's block list. It was charged nevertheless.
  block_reason text, -- Why it was blocked.
  -- Whether an inbound text opts its sender out of automatic texts, decided when it was mirrored: opt_out, opt_in, unsure (may mean
  -- opt_out, so its sender gets no automatic text until a person decides) or none; NULL for outbound texts. In a group, the sender is
  -- from_number. Gates, reports and rule outcomes use this value.
  opt_out_verdict text check (opt_out_verdict in ('opt_out', 'opt_in', 'unsure', 'none')),
  -- Whether an inbound text is a phone's reaction to another text, such as Liked “…” or 👍 to “…”, decided when it was mirrored; NULL for
  -- outbound texts. It neither opts out nor waits for an answer, and is no part of a turn.
  is_reaction boolean,
  send_id uuid, -- The ledger's send that produced it; NULL for texts by people and other integrations.
  is_read_by_others boolean not null default false, -- Whether another user had read it while is_read was false.
  body_length integer, -- Length in characters of a body removed by RETENTION_DAYS; NULL if it wasn't removed.
  -- Segments of a body removed by RETENTION_DAYS, as estimated by reporting.sms_segments; NULL if it wasn't removed.
  body_segment_count integer,
  like warehouse.provenance including defaults including comments,
  primary key (conversation_id, message_id)
) with (fillfactor = 85);
create index sms_messages_sent_at on warehouse.sms_messages (sent_at);
create index sms_messages_number on warehouse.sms_messages (number, sent_at);
create index sms_messages_words on warehouse.sms_messages using gin (to_tsvector('simple', left(coalesce(body, ''), 10000)));
create index sms_messages_opt_outs on warehouse.sms_messages (number) where direction = 'in' and opt_out_verdict in ('opt_out', 'opt_in', 'unsure');
create index sms_messages_opt_out_senders on warehouse.sms_messages (from_number) where direction = 'in' and opt_out_verdict in ('opt_out', 'opt_in', 'unsure');
create index sms_messages_unsure on warehouse.sms_messages (first_seen_at) where direction = 'in' and opt_out_verdict = 'unsure';
create index sms_messages_id on warehouse.sms_messages using brin (message_id int8_minmax_multi_ops) with (autosummarize = on, pages_per_range = 32);
create index sms_messages_unread on warehouse.sms_messages (line, is_read_by_others) where direction = 'in' and is_read = false and deleted_at is null;

-- Every carrier receipt, as first observed.
create table warehouse.sms_message_delivery_events (
  conversation_id bigint not null, -- The conversation.
  message_id bigint not null, -- The message.
  observed_at timestamptz not null default clock_timestamp(), -- When it was mirrored.
  delivery_status text, -- The carrier's own status.
  delivery_error text, -- The carrier's failure detail.
  delivery_at timestamptz, -- When the carrier reported it.
  primary key (conversation_id, message_id, observed_at)
);

-- Users who have read a message, as listed by the service.
create table warehouse.sms_message_reads (
  conversation_id bigint not null, -- The conversation.
  message_id bigint not null, -- The message.
  user_id bigint not null, -- The reader.
  first_seen_at timestamptz not null default now(), -- When a read first listed the user.
  primary key (conversation_id, message_id, user_id)
);

-- States of conversations, from answers to our own requests. Changes made in the portal are missing, because no other answer shows them.
create table warehouse.sms_conversation_events (
  event_id bigint generated always as identity primary key, -- Order of observation.
  conversation_id bigint not null, -- The conversation.
  -- resolved: it was resolved or reopened; assigned: to whom it was assigned; comment: an internal note was added.
  axis text not null check (axis in ('resolved', 'assigned', 'comment')),
  is_resolved boolean, -- Resolved state; part of every answer.
  user_id bigint, -- For resolved: the user credited, NULL for an integration. For assigned: the user, NULL = nobody.
  resolved_at timestamptz, -- When it was resolved, according to the answer.
  actor text not null, -- The rule that did it.
  observed_at timestamptz not null default clock_timestamp(), -- When the answer came.
  run_id bigint -- The run in ops.rule_runs.
);
create index sms_conversation_events_of on warehouse.sms_conversation_events (conversation_id, axis, observed_at);

-- The owner's list of customers, as `contacts import` read it.
create table warehouse.contacts (
  number text primary key, -- The customer's number, as warehouse.contact_number gives it.
  name text, -- The customer's name.
  company text, -- The customer's company.
  owner text, -- Who looks after the customer, in the words of the list.
  language text, -- ISO 639 code in lower case, without a region.
  tags text[] not null default '{}', -- Tags in lower case.
  changed_at timestamptz not null default now() -- When an import last changed the row.
);

-- Unread texts of each line: as counted by the service, and as mirrored. If the service counts more, a text may be missing.
create table warehouse.sms_unread_snapshots (
  line text not null, -- The line.
  observed_at timestamptz not null, -- When the service was read.
  reported_count integer not null, -- Unread inbound texts that the service counts.
  held_count integer not null, -- Mirrored unread inbound texts, and those not stored because their sender was erased.
  -- even; behind: the service counts more, and the missing texts are being searched for; unexplained: they weren't found; older: they are
  -- older than the mirror; ahead: the service counts fewer because texts were read elsewhere, so threads are read again.
  state text not null check (state in ('even', 'behind', 'unexplained', 'older', 'ahead')),
  unchanged_until timestamptz, -- When a read last found the same counts.
  primary key (line, observed_at)
);

-- Calls

-- Calls of the account.
create table warehouse.calls (
  call_id text primary key, -- The service's id. Always text: a number would lose its trailing zeros.
  -- The Unix second in the call id; NULL if the id has another format.
  call_epoch bigint generated always as (case when call_id ~ '^[0-9]{1,11}[.]' then split_part(call_id, '.', 1)::bigint end) stored,
  started_at timestamptz, -- Start.
  ended_at timestamptz, -- End; NULL for a call with no recorded end.
  direction text, -- inbound or outbound.
  status text, -- answered, missed, voicemail or unknown, as reported.
  status_code smallint, -- -1 missed, 0 voicemail, 1 answered, above 1 answered by that many people.
  caller_type text, -- external, user, queue or huntgroup.
  caller_name text, -- Caller's name.
  caller_number text, -- Caller's number; an extension on an internal leg.
  called_type text, -- external, user, queue or huntgroup.
  called_name text, -- Called party's name.
  called_number text, -- Called party's number; an extension on an internal leg.
  dialled_number text, -- The dialled number; for inbound calls, the account's number.
  caller_id_internal text, -- Caller id shown inside.
  caller_id_external text, -- Caller id shown outside.
  duration_seconds integer, -- Length including ringing.
  talk_seconds integer, -- Connected time; 0 on a missed call.
  -- For an inbound call, how long the caller waited according to the legs: from entering the first queue or huntgroup, or else from the
  -- start of the call, until the first answered leg was connected, the mailbox answered or the call ended. NULL = no legs, or not known
  -- from them.
  legs_wait_seconds integer,
  -- According to the legs, how long telephones rang until the first answered leg was connected, the mailbox answered or the call ended.
  -- Inbound: telephones of users, 0 if none rang. Outbound: the other party's. NULL = no legs, or not known from them.
  legs_ring_seconds integer,
  -- For an inbound call, how long the caller was in menus according to the legs: until the first leg to a user, queue, huntgroup, mailbox
  -- or outside party began, or the call ended. NULL = no legs, or not known from them.
  menu_seconds integer,
  -- The furthest point of the call: person (somebody answered), mailbox (ended in one), rang (somebody's telephone; not a leg between two
  -- outside parties), queue (or huntgroup), menu (nothing but a menu). From the legs; if none has a type, from called_type. unknown:
  -- neither tells; or there are no legs and the status means neither person nor mailbox; or nobody answered an outbound call.
  reached text check (reached in ('menu', 'queue', 'rang', 'mailbox', 'person', 'unknown')),
  is_message_left boolean, -- Whether the caller left a message: a mailbox recorded it, or was connected for three seconds or more.
  -- How long mailboxes were connected according to the legs; or else the talk time of a voicemail that passed no menu. NULL = no mailbox,
  -- or not reported.
  message_seconds integer,
  -- How far the caller of an abandoned inbound call got: menu, queue (or huntgroup), ringing (somebody's telephone) or unknown. Also menu
  -- for a missed call that never left the menu according to its legs. NULL = not abandoned.
  abandoned_in text check (abandoned_in in ('menu', 'queue', 'ringing', 'unknown')),
  -- User who answered first: from the legs, or else from the call's own ends. NULL = none, or it is unknown who had the extension.
  answered_user_id bigint,
  placed_user_id bigint, -- User who placed the call. NULL = none, or it is unknown who had the extension.
  -- The queue that the call was answered from, or else the last queue that it entered. Its number, or its name if it has none. NULL = none.
  queue text,
  huntgroup text, -- The same for huntgroups.
  transferred_count smallint, -- How often it was transferred.
  is_abandoned boolean, -- The caller hung up before anyone answered.
  is_recorded boolean, -- Whether audio was recorded. Stays true after the recording is deleted.
  called_back_call_id text, -- The call that returned this abandoned one.
  repeated_count smallint, -- Earlier calls from the same caller within the service's window.
  external_number text, -- The other party's number, normalised; NULL on internal calls.
  account_number text, -- The account's own number on the call, normalised.
  is_internal boolean, -- True when both ends belong to the account: the other party has an extension, or a number of the account.
  reached_person boolean, -- True when a person answered, false when none did; NULL = the status doesn't say.
  legs_fetched_at timestamptz, -- When the legs were last read.
  leg_count smallint, -- Number of mirrored legs; NULL = never read.
  recordings_fetched_at timestamptz, -- When the recordings were last read.
  recording_count smallint, -- Number of mirrored recordings; NULL = never read.
  -- pending: read again later; complete: mirrored; none: not recorded; gone: recorded, but no longer listed; forbidden: the credential may
  -- not read them. NULL = not read yet.
  recordings_state text check (recordings_state in ('pending', 'complete', 'none', 'gone', 'forbidden')),
  transcripts_fetched_at timestamptz, -- When the transcripts were last read.
  transcript_count smallint, -- Number of mirrored transcripts; NULL = never read.
  -- As recordings_state, for transcripts.
  transcripts_state text check (transcripts_state in ('pending', 'complete', 'none', 'gone', 'forbidden')),
  -- An erased person took part. Their names and numbers, and the call's links and transcripts, were removed.
  is_erased boolean not null default false,
  legs_fetch_seq bigint, -- Number of the read that the legs come from; NULL before the first.
  like warehouse.provenance including defaults including comments
) with (fillfactor = 80);
create index calls_started_at on warehouse.calls (started_at);
create index calls_external_number on warehouse.calls (external_number, started_at) include (direction, status, talk_seconds, call_id, deleted_at);
create index calls_unanswered on warehouse.calls (started_at) where status in ('missed', 'voicemail');
create index calls_erased on warehouse.calls (call_id) where is_erased;

-- Legs of a call, in the order listed. The API doesn't document their fields: each is NULL unless reported. Unknown keys are in extra.
create table warehouse.call_legs (
  call_id text not null, -- The call.
  leg_key text not null, -- The leg's uniqueId, or # and its position if it has none.
  ordinal smallint not null, -- Position in the answer, from 1.
  unique_id text, -- The leg's uniqueId.
  leg_call_id text, -- The leg's own call id, which can differ on transferred calls.
  bridged_from_call_id text, -- Call id of the leg that it was bridged from.
  started_at timestamptz, -- Start of the leg.
  ended_at timestamptz, -- End of the leg.
  direction text, -- Direction of the leg.
  status text, -- Status as reported.
  caller_type text, -- Kind of caller.
  caller_name text, -- Caller's name.
  caller_number text, -- Caller's number or extension.
  called_type text, -- Kind of called party.
  called_name text, -- Called party's name.
  called_number text, -- Called party's number or extension.
  duration_seconds integer, -- Length including ringing.
  talk_seconds integer, -- Connected time.
  is_recorded boolean, -- Whether audio was captured.
  like warehouse.provenance including defaults including comments,
  primary key (call_id, leg_key)
) with (fillfactor = 85);

-- Recorded legs of calls. Their links are in the schema secrets.
create table warehouse.recordings (
  call_id text not null, -- The call whose recordings were read.
  unique_id text not null, -- The recorded leg.
  leg_call_id text, -- The leg's call id; on a transferred call it can differ from call_id.
  started_at timestamptz, -- Start of the leg.
  duration_seconds integer, -- Length including ringing.
  talk_seconds integer, -- Connected time.
  from_endpoint text, -- Caller; an extension on an internal leg.
  to_endpoint text, -- Called party; an extension on an internal leg.
  like warehouse.provenance including defaults including comments,
  primary key (call_id, unique_id)
);

-- The service's analysis of a recorded leg. A NULL score means not analysed; it doesn't mean zero.
create table warehouse.transcripts (
  transcript_id bigint primary key, -- The service's id.
  call_id text not null, -- The call, shared by all its transcripts.
  recording_file text, -- Name of the audio file; contains the leg's uniqueId without its dot.
  leg_unique_id text, -- The recorded leg it belongs to; NULL = unknown (never guessed).
  -- How the leg was found: exact, substring, single_leg; ambiguous or none = not found.
  leg_pairing text not null default 'none' check (leg_pairing in ('exact', 'substring', 'single_leg', 'ambiguous', 'none')),
  segment_count integer, -- Utterances.
  -- Summary; NULL when summarisation didn't run. RETENTION_DAYS removes it together with the main points and all notes.
  short_summary text,
  bullet_points text[], -- Main points.
  call_purpose text, -- The account's own vocabulary.
  call_sentiment text, -- The account's own vocabulary.
  csat_score integer, -- Customer satisfaction; NULL = not analysed.
  csat_note text, -- Why that score.
  agent_performance_score integer, -- Agent performance; NULL = not analysed.
  agent_performance_note text, -- Why that score.
  is_action_required boolean, -- Somebody should act; NULL = not analysed.
  action_required_note text, -- What to do.
  is_urgent_action_required boolean, -- Somebody should act at once; NULL = not analysed.
  urgent_action_required_note text, -- What to do.
  agent_name text, -- Agent's name as the analysis heard it.
  agent_speaker integer, -- Which speaker is the agent; NULL = undetermined. Not an identity.
  agent_talk_seconds double precision, -- Time the agent spoke; NULL when the agent is undetermined.
  customer_talk_seconds double precision, -- Time others spoke; NULL when the agent is undetermined.
  like warehouse.provenance including defaults including comments
);
create index transcripts_call on warehouse.transcripts (call_id);

-- The language in which texts and transcripts are searched, by SEARCH_LANGUAGE.
create table ops.search_state (
  is_only boolean default true primary key check (is_only),
  language text not null default 'pg_catalog.simple'
);
insert into ops.search_state default values;

create function ops.search_language() returns text
language sql stable as $$ select language from ops.search_state $$;

-- A configuration that is named with its schema is the same in every session: a generated column may use it. A column of type
-- regconfig would keep pg_upgrade from the database.
create function ops.words_of(language text, body text) returns tsvector
language plpgsql immutable parallel safe as $$ begin return to_tsvector(language::regconfig, left(body, 200000)); end $$;

-- The words of transcripts, in a separate table so that reports scan short rows. RETENTION_DAYS deletes them.
create table warehouse.transcript_bodies (
  transcript_id bigint primary key, -- The transcript.
  segments jsonb not null, -- Utterances in time order: start, end, speaker, text.
  full_text text not null, -- All utterances, one a line.
  words_language text not null default ops.search_language(), -- Text search configuration of words.
  -- For full-text search: words @@ plainto_tsquery(words_language::regconfig, 'refund'); reporting.search uses its index.
  words tsvector generated always as (ops.words_of(words_language, full_text)) stored,
  fetch_seq bigint not null -- Number of the read that wrote it.
);
create index transcript_bodies_words on warehouse.transcript_bodies using gin (words);

-- The account's own KPIs of a call.
create table warehouse.transcript_kpis (
  transcript_id bigint not null, -- The transcript.
  ordinal smallint not null, -- Position in the answer, from 1.
  kpi_name text not null, -- Name of the KPI.
  kpi_value integer, -- Value; NULL = not scored.
  kpi_note text, -- Why that value.
  primary key (transcript_id, ordinal)
);

-- The extensions that answered a call, rang, placed it or received it by transfer, and the queues and huntgroups it entered. Only for calls
-- that were read with their legs, or listed by a filtered search.
create table warehouse.call_attributions (
  call_id text not null, -- The call.
  -- extension, queue, huntgroup or number; user where a search by user listed the call.
  kind text not null check (kind in ('user', 'queue', 'huntgroup', 'extension', 'number')),
  -- The extension or number; the name of a queue or huntgroup without a number; the id of a user. At most 200 characters.
  endpoint text not null,
  -- answered; rang (without answering); placed; entered; transferred_to; transferred_out (transferred the call); touched: took part in an
  -- unknown way, known only from a filtered search.
  role text not null check (role in ('answered', 'rang', 'placed', 'entered', 'transferred_to', 'transferred_out', 'touched')),
  started_at timestamptz not null, -- Start of the call.
  user_id bigint, -- The user who had the extension when the call started; NULL = unknown, or several.
  talk_seconds integer, -- Connected time of this endpoint; NULL if no leg reports it.
  -- legs; summary: caller and called party of the call, if its legs lack these fields; search_filter: a search filtered by this endpoint
  -- listed the call.
  source text not null check (source in ('legs', 'summary', 'search_filter')),
  primary key (call_id, kind, endpoint, role)
);
create index call_attributions_uncredited on warehouse.call_attributions (endpoint) where user_id is null and kind = 'extension';

drop table warehouse.provenance;
