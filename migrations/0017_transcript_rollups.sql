create table reporting.quality_rollup (
  local_date date not null,
  agent_user_id bigint,
  heard_name text,
  call_purpose text,
  transcript_count integer not null,
  csat_count integer not null,
  csat_sum bigint not null,
  performance_count integer not null,
  performance_sum bigint not null,
  analysed_action_count integer not null,
  action_count integer not null,
  urgent_action_count integer not null,
  talk_share_count integer not null,
  talk_share_sum double precision not null,
  unpaired_count integer not null
);
create index quality_rollup_local_date on reporting.quality_rollup (local_date);
comment on table reporting.quality_rollup is 'Transcripts by the local day of their call, agent and purpose; read it through quality_daily.';
comment on column reporting.quality_rollup.local_date is 'Local day of the call.';
comment on column reporting.quality_rollup.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.quality_rollup.heard_name is 'Where it is not known: the name that the analysis heard, if any.';
comment on column reporting.quality_rollup.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.quality_rollup.transcript_count is 'Transcripts; a call has one for each recorded leg.';
comment on column reporting.quality_rollup.csat_count is 'Transcripts with a satisfaction score.';
comment on column reporting.quality_rollup.csat_sum is 'Their scores together.';
comment on column reporting.quality_rollup.performance_count is 'Transcripts with an agent performance score.';
comment on column reporting.quality_rollup.performance_sum is 'Their scores together.';
comment on column reporting.quality_rollup.analysed_action_count is 'Transcripts that say whether somebody should act.';
comment on column reporting.quality_rollup.action_count is 'Of these, those where somebody should.';
comment on column reporting.quality_rollup.urgent_action_count is 'Transcripts where somebody should act at once.';
comment on column reporting.quality_rollup.talk_share_count is 'Transcripts in which it is known who is the agent.';
comment on column reporting.quality_rollup.talk_share_sum is 'The agents'' shares of their talk together.';
comment on column reporting.quality_rollup.unpaired_count is 'Transcripts whose recorded leg is not known.';

create table reporting.sentiment_rollup (
  local_date date not null,
  agent_user_id bigint,
  heard_name text,
  call_sentiment text not null,
  transcript_count integer not null
);
create index sentiment_rollup_local_date on reporting.sentiment_rollup (local_date);
comment on table reporting.sentiment_rollup is 'Transcripts by the local day of their call, agent and sentiment; read it through sentiment_daily.';
comment on column reporting.sentiment_rollup.local_date is 'Local day of the call.';
comment on column reporting.sentiment_rollup.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.sentiment_rollup.heard_name is 'Where it is not known: the name that the analysis heard, if any.';
comment on column reporting.sentiment_rollup.call_sentiment is 'The account''s own word.';
comment on column reporting.sentiment_rollup.transcript_count is 'Transcripts.';

create table reporting.action_items (
  transcript_id bigint primary key,
  call_id text not null,
  call_started_at timestamptz not null,
  local_date date not null,
  is_urgent boolean not null
);
create index action_items_call_started_at on reporting.action_items (call_started_at);
create index action_items_local_date on reporting.action_items (local_date);
comment on table reporting.action_items is 'Transcripts that say that somebody should act; read it through action_backlog.';
comment on column reporting.action_items.transcript_id is 'The transcript.';
comment on column reporting.action_items.call_id is 'Its call.';
comment on column reporting.action_items.call_started_at is 'Start of the call.';
comment on column reporting.action_items.local_date is 'Local day of the call.';
comment on column reporting.action_items.is_urgent is 'Whether it says: at once.';

create table reporting.kpi_names (
  kpi_number integer generated always as identity unique,
  kpi_name text primary key,
  first_seen_at timestamptz not null default now()
);
insert into reporting.kpi_names (kpi_name) select distinct kpi_name from warehouse.transcript_kpis where length(kpi_name) <= 200 order by 1;
comment on table reporting.kpi_names is 'The account''s own measures that any transcript was scored by: the columns of kpi_pivot, in the order in which they were first seen. Names of more than 200 characters are left to kpi_scores.';
comment on column reporting.kpi_names.kpi_number is 'Order of appearance.';
comment on column reporting.kpi_names.kpi_name is 'Name of the measure.';
comment on column reporting.kpi_names.first_seen_at is 'When it was first mirrored.';

create function ops.note_kpi_names() returns trigger language plpgsql as $$
begin
  insert into reporting.kpi_names (kpi_name)
  select distinct kpi_name from new_rows n
  where length(kpi_name) <= 200 and not exists (select from reporting.kpi_names k where k.kpi_name = n.kpi_name) order by 1
  on conflict do nothing;
  return null;
end $$;
comment on function ops.note_kpi_names is 'Keeps the names of measures that are new.';
create trigger note_names after insert on warehouse.transcript_kpis referencing new table as new_rows
  for each statement execute function ops.note_kpi_names();

-- Columns are only ever added at the end, which a view can take while people read it. Postgres has room for 1,600.
create function ops.widen_kpi_pivot() returns integer language plpgsql as $$
declare
  base text;
  measures record;
begin
  select string_agg(format('max(kpi_value) filter (where kpi_name = %L) as %I', kpi_name, column_name), ', ' order by kpi_number) as columns,
    string_agg(format('comment on column reporting.kpi_pivot.%I is %L', column_name, 'The measure "' || kpi_name || '"; NULL = not scored.'), '; ') as comments,
    count(*)::integer as total
  into measures
  from (
    select kpi_number, kpi_name,
      left('kpi_' || kpi_number || '_' || trim('_' from regexp_replace(lower(kpi_name), '[^a-z0-9]+', '_', 'g')), 60) as column_name
    from reporting.kpi_names order by kpi_number limit 500
  ) named;
  if measures.columns is null then return 0; end if;
  base := 'select transcript_id, call_id, call_started_at, local_date, agent_user_id, agent_name, call_purpose';
  execute format('create or replace view reporting.kpi_pivot as %s, %s from reporting.kpi_scores group by 1, 2, 3, 4, 5, 6, 7', base, measures.columns);
  execute measures.comments;
  return measures.total;
end $$;
comment on function ops.widen_kpi_pivot is 'Gives reporting.kpi_pivot a column for each measure that it lacks; returns how many it has.';
