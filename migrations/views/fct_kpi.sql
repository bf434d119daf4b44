-- One row per KPI and transcript: the account's own KPIs. Filter on call_started_at.
create view reporting.fct_kpi as
select
  a.transcript_id, -- The transcript.
  a.call_id, -- Its call.
  a.call_started_at, -- Start of the call.
  a.local_date, -- Its local day.
  a.agent_user_id as user_key, -- Who had the extension of the recorded leg; NULL = not known. See dim_user.
  u.user_name as agent_name, -- That user's name; NULL where the user is not known.
  k.kpi_name, -- Name of the measure.
  k.kpi_value, -- Its value; NULL = not scored, which is not zero.
  case when p.is_text_shown then k.kpi_note end as kpi_note -- Why that value, only while params.is_text_shown.
from rollups.transcript_agents a
  cross join reporting.params p
  join warehouse.transcript_kpis k on k.transcript_id = a.transcript_id
  -- Left out of a plan that shows no heard name.
  left join warehouse.transcripts t on t.transcript_id = a.transcript_id
  left join reporting.dim_user u on u.user_id = a.agent_user_id;
