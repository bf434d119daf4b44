-- Every rollup of calls ends with the same counts and explains them with the same words.
create procedure ops.add_call_counts(rollup regclass) language plpgsql as $$
begin
  execute format($sql$
    alter table %1$s
      add column call_count integer not null,
      add column answered_count integer not null,
      add column voicemail_count integer not null,
      add column abandoned_count integer not null,
      add column short_abandoned_count integer not null,
      add column missed_count integer not null,
      add column unknown_count integer not null,
      add column talk_seconds bigint not null,
      add column talk_count integer not null,
      add column duration_seconds bigint not null,
      add column answer_wait_seconds bigint not null,
      add column answer_wait_count integer not null,
      add column longest_wait_seconds integer,
      add column ans_le_5 integer not null,
      add column ans_le_10 integer not null,
      add column ans_le_15 integer not null,
      add column ans_le_20 integer not null,
      add column ans_le_30 integer not null,
      add column ans_le_45 integer not null,
      add column ans_le_60 integer not null,
      add column ans_le_120 integer not null,
      add column transferred_count integer not null,
      add column recorded_count integer not null,
      add column called_back_count integer not null,
      add column repeated_count integer not null;
    comment on column %1$s.call_count is 'Calls.';
    comment on column %1$s.answered_count is 'Somebody answered.';
    comment on column %1$s.voicemail_count is 'Ended in a mailbox.';
    comment on column %1$s.abandoned_count is 'The caller gave up after more than the short-abandon threshold.';
    comment on column %1$s.short_abandoned_count is 'The caller gave up within the short-abandon threshold.';
    comment on column %1$s.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up.';
    comment on column %1$s.unknown_count is 'The service reports no outcome.';
    comment on column %1$s.talk_seconds is 'Connected time of the answered calls that report it.';
    comment on column %1$s.talk_count is 'Answered calls that report their connected time.';
    comment on column %1$s.duration_seconds is 'Length including ringing, of the calls that report it.';
    comment on column %1$s.answer_wait_seconds is 'Waits of the answered inbound calls together.';
    comment on column %1$s.answer_wait_count is 'Answered inbound calls whose wait is known.';
    comment on column %1$s.longest_wait_seconds is 'Longest wait, answered or not.';
    comment on column %1$s.ans_le_5 is 'Answered within 5 seconds.';
    comment on column %1$s.ans_le_10 is 'Answered within 10 seconds.';
    comment on column %1$s.ans_le_15 is 'Answered within 15 seconds.';
    comment on column %1$s.ans_le_20 is 'Answered within 20 seconds.';
    comment on column %1$s.ans_le_30 is 'Answered within 30 seconds.';
    comment on column %1$s.ans_le_45 is 'Answered within 45 seconds.';
    comment on column %1$s.ans_le_60 is 'Answered within 60 seconds.';
    comment on column %1$s.ans_le_120 is 'Answered within 120 seconds.';
    comment on column %1$s.transferred_count is 'Transferred at least once.';
    comment on column %1$s.recorded_count is 'Audio was captured.';
    comment on column %1$s.called_back_count is 'The service names the call that returned it.';
    comment on column %1$s.repeated_count is 'The caller had called before, within the service''s own window.';
  $sql$, rollup);
end $$;

create table reporting.call_interval_rollup (
  bucket_at timestamptz not null,
  direction text not null,
  is_internal boolean not null,
  local_date date not null,
  local_hour integer not null,
  primary key (bucket_at, direction, is_internal)
);
call ops.add_call_counts('reporting.call_interval_rollup');
create index call_interval_rollup_local_date on reporting.call_interval_rollup (local_date);
comment on table reporting.call_interval_rollup is 'Calls by quarter of an hour; read it through call_interval, call_daily and call_heatmap.';
comment on column reporting.call_interval_rollup.bucket_at is 'Begin of the quarter of an hour.';
comment on column reporting.call_interval_rollup.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_interval_rollup.is_internal is 'Both ends are the account''s own.';
comment on column reporting.call_interval_rollup.local_date is 'Its local day.';
comment on column reporting.call_interval_rollup.local_hour is 'Its local hour. The hour that the clock repeats in autumn holds two.';

create table reporting.call_endpoint_rollup (
  local_date date not null,
  kind text not null check (kind in ('number', 'queue', 'huntgroup')),
  endpoint text not null,
  direction text not null,
  primary key (local_date, kind, endpoint, direction)
);
call ops.add_call_counts('reporting.call_endpoint_rollup');
comment on table reporting.call_endpoint_rollup is 'External calls by local day and by number, queue or huntgroup; read it through number_daily and group_daily.';
comment on column reporting.call_endpoint_rollup.local_date is 'Local day.';
comment on column reporting.call_endpoint_rollup.kind is 'number, queue or huntgroup.';
comment on column reporting.call_endpoint_rollup.endpoint is 'The account''s number, empty where the call reports none; or the queue or huntgroup.';
comment on column reporting.call_endpoint_rollup.direction is 'inbound, outbound, or unknown where none is reported.';

create table reporting.call_agent_rollup (
  local_date date not null,
  user_id bigint not null,
  direction text not null,
  handled_count integer not null,
  rang_count integer not null,
  transferred_to_count integer not null,
  talk_seconds bigint not null,
  primary key (local_date, user_id, direction)
);
comment on table reporting.call_agent_rollup is 'Calls by local day and user; read it through agent_daily.';
comment on column reporting.call_agent_rollup.local_date is 'Local day.';
comment on column reporting.call_agent_rollup.user_id is 'The user.';
comment on column reporting.call_agent_rollup.direction is 'Direction of the call: inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_agent_rollup.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.call_agent_rollup.rang_count is 'Calls that rang at the user''s and that the user did not answer.';
comment on column reporting.call_agent_rollup.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.call_agent_rollup.talk_seconds is 'Connected time on the calls handled, where legs or the call report it.';

create table reporting.missed_call_returns (
  call_id text primary key,
  started_at timestamptz not null,
  local_date date not null,
  outcome text not null,
  account_number text,
  wait_seconds integer,
  called_back_call_id text,
  returned_by text check (returned_by in ('called_back', 'outbound_call', 'caller_got_through', 'text')),
  returned_at timestamptz,
  returned_call_id text
);
create index missed_call_returns_started_at on reporting.missed_call_returns (started_at);
create index missed_call_returns_local_date on reporting.missed_call_returns (local_date);
create index missed_call_returns_returned_at on reporting.missed_call_returns (returned_at);
create index missed_call_returns_called_back on reporting.missed_call_returns (called_back_call_id) where called_back_call_id is not null;
comment on table reporting.missed_call_returns is 'Inbound external calls that nobody answered, and how they were returned; read it through missed_calls. It holds no number of a customer.';
comment on column reporting.missed_call_returns.call_id is 'The missed call.';
comment on column reporting.missed_call_returns.started_at is 'Its start.';
comment on column reporting.missed_call_returns.local_date is 'Its local day.';
comment on column reporting.missed_call_returns.outcome is 'voicemail, short_abandoned, abandoned or missed.';
comment on column reporting.missed_call_returns.account_number is 'The account''s number that was called.';
comment on column reporting.missed_call_returns.wait_seconds is 'How long the caller waited.';
comment on column reporting.missed_call_returns.called_back_call_id is 'The call that returned it, by the service.';
comment on column reporting.missed_call_returns.returned_by is 'called_back, outbound_call, caller_got_through or text; NULL = not returned within the window.';
comment on column reporting.missed_call_returns.returned_at is 'When; NULL when not returned, or when the service names a call that is not held.';
comment on column reporting.missed_call_returns.returned_call_id is 'By which call; NULL for a text.';
