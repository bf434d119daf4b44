create index sms_conversations_newest on warehouse.sms_conversations (last_message_at desc nulls last) where deleted_at is null;

-- Percentiles over a month read these columns of very many rows.
create index sms_turns_times on reporting.sms_turns (turn_started_at)
  include (line, is_session_start, reply_seconds, user_reply_seconds, user_reply_business_seconds);
drop index reporting.sms_turns_started_at;

alter table reporting.missed_call_returns
  add column return_seconds integer generated always as (
    case when returned_at - started_at < interval '60 years' then extract(epoch from returned_at - started_at)::integer end) stored;
comment on column reporting.missed_call_returns.return_seconds is 'From the start of the call to its return; NULL when not returned at a known time, or an absurd one.';
create index missed_call_returns_times on reporting.missed_call_returns (started_at) include (outcome, returned_by, return_seconds, account_number);
drop index reporting.missed_call_returns_started_at;

create table reporting.call_hour_rollup (
  local_date date not null,
  local_hour integer not null,
  direction text not null,
  is_internal boolean not null,
  primary key (local_date, local_hour, direction, is_internal)
);
call ops.add_call_counts('reporting.call_hour_rollup');
comment on table reporting.call_hour_rollup is 'Calls by local hour; read it through call_daily and call_heatmap.';
comment on column reporting.call_hour_rollup.local_date is 'Local day.';
comment on column reporting.call_hour_rollup.local_hour is 'Local hour. The hour that the clock repeats in autumn holds both.';
comment on column reporting.call_hour_rollup.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_hour_rollup.is_internal is 'Both ends are the account''s own.';

create table reporting.call_agent_month_rollup (
  month_start_date date not null,
  user_id bigint not null,
  direction text not null,
  handled_count bigint not null,
  rang_count bigint not null,
  transferred_to_count bigint not null,
  talk_seconds bigint not null,
  primary key (month_start_date, user_id, direction)
);
comment on table reporting.call_agent_month_rollup is 'Calls by local month and user; read it through agent_monthly and agent_totals.';
comment on column reporting.call_agent_month_rollup.month_start_date is 'First day of the local month.';
comment on column reporting.call_agent_month_rollup.user_id is 'The user.';
comment on column reporting.call_agent_month_rollup.direction is 'Direction of the call: inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_agent_month_rollup.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.call_agent_month_rollup.rang_count is 'Calls that rang at the user''s and that the user did not answer.';
comment on column reporting.call_agent_month_rollup.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.call_agent_month_rollup.talk_seconds is 'Connected time on the calls handled, where legs or the call report it.';

create table reporting.callback_rollup (
  local_date date not null,
  account_number text,
  missed_count integer not null,
  voicemail_count integer not null,
  short_abandoned_count integer not null,
  called_back_count integer not null,
  outbound_call_count integer not null,
  caller_got_through_count integer not null,
  text_count integer not null,
  return_time_count integer not null,
  minutes_to_return_p50 numeric
);
create index callback_rollup_local_date on reporting.callback_rollup (local_date);
comment on table reporting.callback_rollup is 'Missed calls and their returns by the local day on which they were missed and number; read it through callbacks.';
comment on column reporting.callback_rollup.local_date is 'Local day on which they were missed.';
comment on column reporting.callback_rollup.account_number is 'The account''s number that was called.';
comment on column reporting.callback_rollup.missed_count is 'Missed calls, mailbox included.';
comment on column reporting.callback_rollup.voicemail_count is 'Of these, those that ended in a mailbox.';
comment on column reporting.callback_rollup.short_abandoned_count is 'Of these, those that the caller gave up within the short-abandon threshold.';
comment on column reporting.callback_rollup.called_back_count is 'Returned by the call that the service names.';
comment on column reporting.callback_rollup.outbound_call_count is 'Returned by another call of ours.';
comment on column reporting.callback_rollup.caller_got_through_count is 'The caller called again and was answered.';
comment on column reporting.callback_rollup.text_count is 'Returned by a text.';
comment on column reporting.callback_rollup.return_time_count is 'Returned at a known time: the n of minutes_to_return_p50.';
comment on column reporting.callback_rollup.minutes_to_return_p50 is 'Half of these were returned within so many minutes.';

create table reporting.repeat_caller_rollup (
  last_call_id text primary key,
  inbound_count integer not null,
  answered_count integer not null,
  active_day_count integer not null,
  first_call_at timestamptz not null,
  last_call_at timestamptz not null
);
create index repeat_caller_rollup_inbound_count on reporting.repeat_caller_rollup (inbound_count desc);
comment on table reporting.repeat_caller_rollup is 'Who called twice or more lately; read it through repeat_callers. It holds no number of a customer.';
comment on column reporting.repeat_caller_rollup.last_call_id is 'The caller''s last call, which has the number.';
comment on column reporting.repeat_caller_rollup.inbound_count is 'Inbound external calls today and on the six local days before.';
comment on column reporting.repeat_caller_rollup.answered_count is 'Of these, answered.';
comment on column reporting.repeat_caller_rollup.active_day_count is 'Local days with a call.';
comment on column reporting.repeat_caller_rollup.first_call_at is 'First of these calls.';
comment on column reporting.repeat_caller_rollup.last_call_at is 'Last of these calls.';

create table reporting.transcript_agents (
  transcript_id bigint primary key,
  call_id text not null,
  call_started_at timestamptz not null,
  agent_user_id bigint
);
create index transcript_agents_call_started_at on reporting.transcript_agents (call_started_at) include (transcript_id);
comment on table reporting.transcript_agents is 'When the call of each transcript began, and whose it was; read it through fct_transcript. Transcripts of calls that are not held are left out.';
comment on column reporting.transcript_agents.transcript_id is 'The transcript.';
comment on column reporting.transcript_agents.call_id is 'Its call.';
comment on column reporting.transcript_agents.call_started_at is 'Start of the call.';
comment on column reporting.transcript_agents.agent_user_id is 'Who had the extension of the recorded leg then; NULL = not known.';

create table ops.rollup_troubles (
  kind text not null check (kind in ('calls', 'texts', 'thread')),
  bucket_at timestamptz,
  conversation_id bigint,
  error text not null,
  try_count integer not null default 1,
  first_failed_at timestamptz not null default now(),
  last_failed_at timestamptz not null default now(),
  retry_at timestamptz not null default now() + interval '1 minute',
  check ((kind = 'thread') = (conversation_id is not null) and (kind <> 'thread') = (bucket_at is not null))
);
create unique index rollup_troubles_subject on ops.rollup_troubles (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0));
comment on table ops.rollup_troubles is 'Changes that could not be worked into the rollups, set aside so that the others are. Gone once they could.';
comment on column ops.rollup_troubles.kind is 'As in ops.rollup_markers.';
comment on column ops.rollup_troubles.bucket_at is 'Begin of the quarter of an hour, UTC; the first of the day where a total of the day failed.';
comment on column ops.rollup_troubles.conversation_id is 'The conversation.';
comment on column ops.rollup_troubles.error is 'What Postgres said last.';
comment on column ops.rollup_troubles.try_count is 'How often it was tried.';
comment on column ops.rollup_troubles.first_failed_at is 'When it failed first.';
comment on column ops.rollup_troubles.last_failed_at is 'When it failed last.';
comment on column ops.rollup_troubles.retry_at is 'When it is tried again: after a minute, and up to a quarter of an hour.';

alter table ops.rollup_state add column callers_date date;
comment on column ops.rollup_state.meaning is 'ops.rollup_meaning() as it was when all rollups were last rebuilt; NULL = they never were, or a rebuild is under way or was cut off.';
comment on column ops.rollup_state.callers_date is 'The local day that reporting.repeat_caller_rollup ends with.';

-- What is rolled up already fills what stands on it.
insert into reporting.call_hour_rollup (local_date, local_hour, direction, is_internal, call_count, answered_count, voicemail_count,
  abandoned_count, short_abandoned_count, missed_count, unknown_count, talk_seconds, talk_count, duration_seconds, answer_wait_seconds,
  answer_wait_count, longest_wait_seconds, ans_le_5, ans_le_10, ans_le_15, ans_le_20, ans_le_30, ans_le_45, ans_le_60, ans_le_120,
  transferred_count, recorded_count, called_back_count, repeated_count)
select local_date, local_hour, direction, is_internal, sum(call_count), sum(answered_count), sum(voicemail_count),
  sum(abandoned_count), sum(short_abandoned_count), sum(missed_count), sum(unknown_count), sum(talk_seconds), sum(talk_count),
  sum(duration_seconds), sum(answer_wait_seconds), sum(answer_wait_count), max(longest_wait_seconds), sum(ans_le_5), sum(ans_le_10),
  sum(ans_le_15), sum(ans_le_20), sum(ans_le_30), sum(ans_le_45), sum(ans_le_60), sum(ans_le_120), sum(transferred_count),
  sum(recorded_count), sum(called_back_count), sum(repeated_count)
from reporting.call_interval_rollup group by 1, 2, 3, 4;

insert into reporting.call_agent_month_rollup
select date_trunc('month', local_date)::date, user_id, direction, sum(handled_count), sum(rang_count), sum(transferred_to_count), sum(talk_seconds)
from reporting.call_agent_rollup group by 1, 2, 3;

insert into reporting.callback_rollup
select local_date, account_number, count(*), count(*) filter (where outcome = 'voicemail'), count(*) filter (where outcome = 'short_abandoned'),
  count(*) filter (where returned_by = 'called_back'), count(*) filter (where returned_by = 'outbound_call'),
  count(*) filter (where returned_by = 'caller_got_through'), count(*) filter (where returned_by = 'text'), count(return_seconds),
  round((percentile_cont(0.5) within group (order by return_seconds) / 60)::numeric, 1)
from reporting.missed_call_returns group by 1, 2;

insert into reporting.transcript_agents
select t.transcript_id, t.call_id, c.started_at, case when count(distinct e.user_id) = 1 then min(e.user_id) end
from warehouse.transcripts t
  join warehouse.calls c on c.call_id = t.call_id and c.deleted_at is null and c.started_at is not null
  left join warehouse.call_legs l on l.call_id = t.call_id and l.leg_key = t.leg_unique_id and l.deleted_at is null
  left join warehouse.user_endpoints e
    on e.endpoint = case when l.called_type = 'user' then l.called_number when l.caller_type = 'user' then l.caller_number end
      and e.kind in ('extension', 'dial_extension', 'sip_line') and e.valid_from <= c.started_at and c.started_at < e.valid_to
where t.deleted_at is null
group by t.transcript_id, t.call_id, c.started_at;

create table reporting.kpi_rollup (
  local_date date not null,
  agent_user_id bigint,
  heard_name text,
  kpi_name text not null,
  transcript_count integer not null,
  score_count integer not null,
  score_sum bigint not null
);
create index kpi_rollup_local_date on reporting.kpi_rollup (local_date);
comment on table reporting.kpi_rollup is 'The account''s own measures by the local day of their call and agent; read it through kpi_daily.';
comment on column reporting.kpi_rollup.local_date is 'Local day of the call.';
comment on column reporting.kpi_rollup.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_rollup.heard_name is 'Where it is not known: the name that the analysis heard, if any.';
comment on column reporting.kpi_rollup.kpi_name is 'Name of the measure.';
comment on column reporting.kpi_rollup.transcript_count is 'Transcripts that the measure was taken of, scored or not.';
comment on column reporting.kpi_rollup.score_count is 'Of these, scored.';
comment on column reporting.kpi_rollup.score_sum is 'Their scores together.';

insert into reporting.kpi_rollup
select (a.call_started_at at time zone p.time_zone)::date, a.agent_user_id, case when a.agent_user_id is null then nullif(t.agent_name, '') end,
  k.kpi_name, count(*), count(k.kpi_value), coalesce(sum(k.kpi_value), 0)
from reporting.transcript_agents a
  cross join reporting.params p
  join warehouse.transcripts t on t.transcript_id = a.transcript_id
  join warehouse.transcript_kpis k on k.transcript_id = a.transcript_id
group by 1, 2, 3, 4 order by 1;

create function ops.mark_kpis() returns trigger language plpgsql as $$
begin
  insert into ops.rollup_markers (kind, bucket_at)
  select distinct 'calls', ops.quarter_of(c.started_at)
  from changed_rows k join warehouse.transcripts t on t.transcript_id = k.transcript_id join warehouse.calls c on c.call_id = t.call_id
  where c.started_at is not null;
  return null;
end $$;
comment on function ops.mark_kpis is 'Marks the quarters of an hour of the calls whose measures were written: a transcript''s own row does not tell of them.';
create trigger mark_inserts after insert on warehouse.transcript_kpis referencing new table as changed_rows
  for each statement execute function ops.mark_kpis();
create trigger mark_deletes after delete on warehouse.transcript_kpis referencing old table as changed_rows
  for each statement execute function ops.mark_kpis();

-- It reads with its owner's rights, as the views do.
create function reporting.agent_totals(from_date date, to_date date) returns table (
  user_id bigint, user_name text, direction text, handled_count bigint, rang_count bigint, transferred_to_count bigint,
  talk_seconds bigint, talk_avg_seconds numeric, pickup_rate_pct numeric
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with months as (
    select date_trunc('month', from_date::timestamp + interval '1 month' - interval '1 day')::date as first,
      date_trunc('month', to_date::timestamp + interval '1 day')::date as past
  ),
  parts as (
    select m.user_id, m.direction, m.handled_count as handled, m.rang_count as rang, m.transferred_to_count as transferred, m.talk_seconds as talk
    from months x join reporting.call_agent_month_rollup m on m.month_start_date >= x.first and m.month_start_date < x.past
    union all
    select d.user_id, d.direction, d.handled_count, d.rang_count, d.transferred_to_count, d.talk_seconds
    from months x join reporting.call_agent_rollup d on d.local_date >= from_date and d.local_date < least(x.first, to_date + 1)
    union all
    select d.user_id, d.direction, d.handled_count, d.rang_count, d.transferred_to_count, d.talk_seconds
    from months x join reporting.call_agent_rollup d on d.local_date >= greatest(x.past, x.first) and d.local_date <= to_date
  )
  select t.user_id, coalesce(nullif(trim(concat_ws(' ', u.first_name, u.last_name)), ''), nullif(u.username, ''), 'user ' || t.user_id),
    t.direction, t.handled, t.rang, t.transferred, t.talk, round(t.talk::numeric / nullif(t.handled, 0), 1),
    case when t.direction = 'inbound' then round(100.0 * t.handled / nullif(t.handled + t.rang, 0), 2) end
  from (
    select p.user_id, p.direction, sum(p.handled)::bigint as handled, sum(p.rang)::bigint as rang,
      sum(p.transferred)::bigint as transferred, sum(p.talk)::bigint as talk
    from parts p group by 1, 2
  ) t
    left join warehouse.users u on u.user_id = t.user_id
$$;
comment on function reporting.agent_totals is 'agent_daily summed over local days, both ends included, fast over years: select * from reporting.agent_totals(''2026-01-01'', ''2026-12-31'').';

-- A function that the planner sees through: where very many spans are measured, none starts a query of its own. Each end of a
-- day's hours becomes an instant of its own, so a day with 23 or 25 hours counts what the clock counted.
create function reporting.open_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns table (seconds bigint)
language sql stable parallel safe as $$
  select coalesce(sum(extract(epoch from
      least(to_at, (day + h.closes) at time zone s.time_zone) - greatest(from_at, (day + h.opens) at time zone s.time_zone))), 0)::bigint
  from reporting.schedules s
    cross join lateral (
      select generated::date as day
      from generate_series((from_at at time zone s.time_zone)::date, (to_at at time zone s.time_zone)::date, interval '1 day') generated
    ) days
    join reporting.business_hours h on h.schedule_id = s.schedule_id and h.isodow = extract(isodow from day)
  where s.schedule_id = schedule
    and not exists (select from reporting.holidays x where x.schedule_id = schedule and x.holiday_date = day)
    and least(to_at, (day + h.closes) at time zone s.time_zone) > greatest(from_at, (day + h.opens) at time zone s.time_zone)
$$;
comment on function reporting.open_seconds is 'business_seconds for a from clause, which is faster over many rows: cross join lateral reporting.open_seconds(from_at, to_at, schedule_id). One row.';

create or replace function reporting.business_seconds(from_at timestamptz, to_at timestamptz, schedule integer) returns bigint
language sql strict stable parallel safe as $$ select seconds from reporting.open_seconds(from_at, to_at, schedule) $$;

-- Columns are only ever added at the end, which a view can take while people read it. Postgres has room for 1,600.
create or replace function ops.widen_kpi_pivot() returns integer language plpgsql as $$
declare
  measures record;
begin
  select string_agg(format('max(x.kpi_value) filter (where x.kpi_name = %L) as %I', kpi_name, column_name), ', ' order by kpi_number) as columns,
    string_agg(format('comment on column reporting.kpi_pivot.%I is %L', column_name, 'The measure "' || kpi_name || '"; NULL = not scored.'), '; ') as comments,
    count(*)::integer as total
  into measures
  from (
    select kpi_number, kpi_name,
      left('kpi_' || kpi_number || '_' || trim('_' from regexp_replace(lower(kpi_name), '[^a-z0-9]+', '_', 'g')), 60) as column_name
    from reporting.kpi_names order by kpi_number limit 500
  ) named;
  if measures.columns is null then return 0; end if;
  execute format('create or replace view reporting.kpi_pivot as
    select t.transcript_id, t.call_id, t.call_started_at, t.local_date, t.agent_user_id, t.agent_name, t.call_purpose, k.*
    from reporting.fct_transcript t
      cross join lateral (select %s from warehouse.transcript_kpis x where x.transcript_id = t.transcript_id having count(*) > 0) k',
    measures.columns);
  execute measures.comments;
  return measures.total;
end $$;
