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
  wait_seconds integer generated always as (greatest(duration_seconds - talk_seconds, 0)) stored,
  queue_wait_seconds integer,
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
  transcripts_state text check (transcripts_state in ('pending', 'complete', 'none', 'gone', 'forbidden'))
) with (fillfactor = 80);
call warehouse.add_provenance('warehouse.calls');
create index calls_started_at on warehouse.calls (started_at);
create index calls_external_number on warehouse.calls (external_number, started_at) include (direction, status, talk_seconds, call_id);
create index calls_unanswered on warehouse.calls (started_at) where status in ('missed', 'voicemail');
create trigger note_changes after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('call', 'call_id', 'status', 'status_code', 'ended_at', 'duration_seconds', 'talk_seconds', 'transferred_count', 'is_abandoned', 'is_recorded', 'called_back_call_id', 'repeated_count');

comment on table warehouse.calls is 'Calls of the account.';
comment on column warehouse.calls.call_id is 'The service''s id, always text: a number would lose its trailing zeros.';
comment on column warehouse.calls.call_epoch is 'The Unix second in the call id; NULL where the id has another shape.';
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
comment on column warehouse.calls.dialled_number is 'What was dialled; for inbound calls the account''s number.';
comment on column warehouse.calls.caller_id_internal is 'Caller id shown inside.';
comment on column warehouse.calls.caller_id_external is 'Caller id shown outside.';
comment on column warehouse.calls.duration_seconds is 'Length including ringing.';
comment on column warehouse.calls.talk_seconds is 'Connected time; 0 on a missed call.';
comment on column warehouse.calls.wait_seconds is 'duration_seconds less talk_seconds: ringing, menus and queue together. Hold time is not reported by the API.';
comment on column warehouse.calls.queue_wait_seconds is 'Time in a queue, where legs show it; NULL = not known.';
comment on column warehouse.calls.transferred_count is 'How often it was transferred.';
comment on column warehouse.calls.is_abandoned is 'The caller hung up before anyone answered.';
comment on column warehouse.calls.is_recorded is 'Audio was captured; stays true after the recording is deleted.';
comment on column warehouse.calls.called_back_call_id is 'The call that returned this abandoned one.';
comment on column warehouse.calls.repeated_count is 'Earlier calls from the same caller within the service''s window.';
comment on column warehouse.calls.external_number is 'The other party''s number, normalised; NULL on internal calls.';
comment on column warehouse.calls.account_number is 'The account''s own number on the call, normalised.';
comment on column warehouse.calls.is_internal is 'True when both ends are the account''s own.';
comment on column warehouse.calls.reached_person is 'True when a person answered, false when none did; NULL = the status does not say.';
comment on column warehouse.calls.legs_fetched_at is 'When the legs were last read.';
comment on column warehouse.calls.leg_count is 'Legs held; NULL = never read.';
comment on column warehouse.calls.recordings_fetched_at is 'When the recordings were last read.';
comment on column warehouse.calls.recording_count is 'Recordings held; NULL = never read.';
comment on column warehouse.calls.recordings_state is 'pending: looked for again; complete: held; none: not recorded; gone: captured, but no longer listed; forbidden: the credential may not read them. NULL = not looked for yet.';
comment on column warehouse.calls.transcripts_fetched_at is 'When the transcripts were last read.';
comment on column warehouse.calls.transcript_count is 'Transcripts held; NULL = never read.';
comment on column warehouse.calls.transcripts_state is 'As recordings_state, for transcripts.';

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
comment on table warehouse.call_legs is 'Legs of a call, in the order listed. The API does not document their fields: each is NULL unless reported, and the whole answer is in warehouse.documents.';
comment on column warehouse.call_legs.call_id is 'The call.';
comment on column warehouse.call_legs.leg_key is 'The leg''s uniqueId, or # and its position where it has none.';
comment on column warehouse.call_legs.ordinal is 'Position in the answer, from 1.';
comment on column warehouse.call_legs.unique_id is 'The leg''s uniqueId.';
comment on column warehouse.call_legs.leg_call_id is 'The leg''s own call id, which can differ on transferred calls.';
comment on column warehouse.call_legs.bridged_from_call_id is 'Call id of the leg that it was bridged from.';
comment on column warehouse.call_legs.started_at is 'Start of the leg.';
comment on column warehouse.call_legs.ended_at is 'End of the leg.';
comment on column warehouse.call_legs.direction is 'Direction of the leg.';
comment on column warehouse.call_legs.status is 'The service''s word.';
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
comment on column warehouse.recordings.call_id is 'The call that was asked for.';
comment on column warehouse.recordings.unique_id is 'The recorded leg.';
comment on column warehouse.recordings.leg_call_id is 'The leg''s call id; on a transferred call it can differ from call_id.';
comment on column warehouse.recordings.started_at is 'Start of the leg.';
comment on column warehouse.recordings.duration_seconds is 'Length including ringing.';
comment on column warehouse.recordings.talk_seconds is 'Connected time.';
comment on column warehouse.recordings.from_endpoint is 'Caller; an extension on an internal leg.';
comment on column warehouse.recordings.to_endpoint is 'Called party; an extension on an internal leg.';

create table secrets.recording_urls (
  call_id text not null,
  unique_id text not null,
  url text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  primary key (call_id, unique_id)
);
comment on table secrets.recording_urls is 'Signed links to audio. They do not expire; anyone holding one can play the call.';
comment on column secrets.recording_urls.call_id is 'The call that was asked for.';
comment on column secrets.recording_urls.unique_id is 'The recorded leg.';
comment on column secrets.recording_urls.url is 'The link.';
comment on column secrets.recording_urls.first_seen_at is 'When it was first mirrored.';
comment on column secrets.recording_urls.last_seen_at is 'When it was last listed.';

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
create trigger note_changes after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('transcript', 'transcript_id', 'call_purpose', 'call_sentiment', 'csat_score', 'agent_performance_score', 'is_action_required', 'is_urgent_action_required');
comment on table warehouse.transcripts is 'What the service''s analysis says of a recorded leg. A score that is NULL was not analysed; it is not zero.';
comment on column warehouse.transcripts.transcript_id is 'The service''s id.';
comment on column warehouse.transcripts.call_id is 'The call, shared by all its transcripts.';
comment on column warehouse.transcripts.recording_file is 'Audio file name; holds the leg''s uniqueId without its dot.';
comment on column warehouse.transcripts.leg_unique_id is 'The recorded leg it belongs to; NULL = not known, never guessed.';
comment on column warehouse.transcripts.leg_pairing is 'How the leg was found: exact, substring, single_leg; ambiguous or none = not found.';
comment on column warehouse.transcripts.segment_count is 'Utterances.';
comment on column warehouse.transcripts.short_summary is 'Summary; NULL when summarisation did not run.';
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

create table warehouse.transcript_bodies (
  transcript_id bigint primary key,
  segments jsonb not null,
  full_text text not null,
  words tsvector generated always as (to_tsvector('simple', left(full_text, 200000))) stored,
  fetch_seq bigint not null
);
create index transcript_bodies_words on warehouse.transcript_bodies using gin (words);
comment on table warehouse.transcript_bodies is 'What was said, apart from the rows that reports scan.';
comment on column warehouse.transcript_bodies.transcript_id is 'The transcript.';
comment on column warehouse.transcript_bodies.segments is 'Utterances in time order: start, end, speaker, text.';
comment on column warehouse.transcript_bodies.full_text is 'All utterances, one a line.';
comment on column warehouse.transcript_bodies.words is 'For full-text search: words @@ plainto_tsquery(''simple'', ''refund'').';
comment on column warehouse.transcript_bodies.fetch_seq is 'Number of the read that wrote it.';

create table warehouse.transcript_kpis (
  transcript_id bigint not null,
  ordinal smallint not null,
  kpi_name text not null,
  kpi_value integer,
  kpi_note text,
  primary key (transcript_id, ordinal)
);
create index transcript_kpis_name on warehouse.transcript_kpis using hash (kpi_name);
comment on table warehouse.transcript_kpis is 'The account''s own measures of a call.';
comment on column warehouse.transcript_kpis.transcript_id is 'The transcript.';
comment on column warehouse.transcript_kpis.ordinal is 'Position in the answer, from 1.';
comment on column warehouse.transcript_kpis.kpi_name is 'Name of the measure.';
comment on column warehouse.transcript_kpis.kpi_value is 'Value; NULL = not scored.';
comment on column warehouse.transcript_kpis.kpi_note is 'Why that value.';
