create view reporting.kpi_scores as
select
  a.transcript_id,
  a.call_id,
  a.call_started_at,
  (a.call_started_at at time zone p.time_zone)::date as local_date,
  reporting.date_key((a.call_started_at at time zone p.time_zone)::date) as date_key,
  a.agent_user_id,
  u.user_name as agent_name,
  nullif(t.agent_name, '') as heard_agent_name,
  t.call_purpose,
  k.kpi_name,
  k.kpi_value,
  case when p.is_text_shown then k.kpi_note end as kpi_note
from rollups.transcript_agents a
  cross join reporting.params p
  join warehouse.transcript_kpis k on k.transcript_id = a.transcript_id
  -- Left out of a plan that shows neither purpose nor name.
  left join warehouse.transcripts t on t.transcript_id = a.transcript_id
  left join reporting.dim_user u on u.user_id = a.agent_user_id;

comment on view reporting.kpi_scores is 'One row is one of the account''s own measures of one transcript. Filter on call_started_at; day totals stand in kpi_daily.';
comment on column reporting.kpi_scores.transcript_id is 'The transcript.';
comment on column reporting.kpi_scores.call_id is 'Its call.';
comment on column reporting.kpi_scores.call_started_at is 'Start of the call.';
comment on column reporting.kpi_scores.local_date is 'Its local day.';
comment on column reporting.kpi_scores.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.kpi_scores.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_scores.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.kpi_scores.heard_agent_name is 'The agent''s name as the analysis heard it, which is no user of the account; NULL = none heard.';
comment on column reporting.kpi_scores.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.kpi_scores.kpi_name is 'Name of the measure.';
comment on column reporting.kpi_scores.kpi_value is 'Its value; NULL = not scored, which is not zero.';
comment on column reporting.kpi_scores.kpi_note is 'Why that value, only while params.is_text_shown.';
