create view reporting.fct_kpi as
select
  a.transcript_id,
  a.call_id,
  a.call_started_at,
  a.local_date,
  reporting.date_key(a.local_date) as date_key,
  a.agent_user_id as user_key,
  u.user_name as agent_name,
  nullif(t.agent_name, '') as heard_agent_name,
  a.call_purpose,
  k.kpi_name,
  k.kpi_value,
  case when p.is_text_shown then k.kpi_note end as kpi_note
from rollups.transcript_agents a
  cross join reporting.params p
  join warehouse.transcript_kpis k on k.transcript_id = a.transcript_id
  -- Left out of a plan that shows no heard name.
  left join warehouse.transcripts t on t.transcript_id = a.transcript_id
  left join reporting.dim_user u on u.user_id = a.agent_user_id;

comment on view reporting.fct_kpi is 'One row per KPI and transcript: the account''s own KPIs. Filter on call_started_at.';
comment on column reporting.fct_kpi.transcript_id is 'The transcript.';
comment on column reporting.fct_kpi.call_id is 'Its call.';
comment on column reporting.fct_kpi.call_started_at is 'Start of the call.';
comment on column reporting.fct_kpi.local_date is 'Its local day.';
comment on column reporting.fct_kpi.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_kpi.user_key is 'Who had the extension of the recorded leg; NULL = not known. See dim_user.';
comment on column reporting.fct_kpi.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.fct_kpi.heard_agent_name is 'The agent''s name as the analysis heard it, not matched to a user; NULL = none heard.';
comment on column reporting.fct_kpi.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.fct_kpi.kpi_name is 'Name of the measure.';
comment on column reporting.fct_kpi.kpi_value is 'Its value; NULL = not scored, which is not zero.';
comment on column reporting.fct_kpi.kpi_note is 'Why that value, only while params.is_text_shown.';
