create view reporting.kpi_scores as
select
  t.transcript_id,
  t.call_id,
  t.call_started_at,
  t.local_date,
  t.agent_user_id,
  t.agent_name,
  t.call_purpose,
  k.kpi_name,
  k.kpi_value,
  k.kpi_note
from reporting.fct_transcript t
  join warehouse.transcript_kpis k on k.transcript_id = t.transcript_id;

comment on view reporting.kpi_scores is 'The account''s own measures of each transcript, one row each. Filter on call_started_at.';
comment on column reporting.kpi_scores.transcript_id is 'The transcript.';
comment on column reporting.kpi_scores.call_id is 'Its call.';
comment on column reporting.kpi_scores.call_started_at is 'Start of the call.';
comment on column reporting.kpi_scores.local_date is 'Its local day.';
comment on column reporting.kpi_scores.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_scores.agent_name is 'That user''s name, else the name that the analysis heard; NULL = neither.';
comment on column reporting.kpi_scores.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.kpi_scores.kpi_name is 'Name of the measure.';
comment on column reporting.kpi_scores.kpi_value is 'Its value; NULL = not scored, which is not zero.';
comment on column reporting.kpi_scores.kpi_note is 'Why that value.';
