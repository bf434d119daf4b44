create view reporting.kpi_pivot as
select t.transcript_id, t.call_id, t.call_started_at, t.local_date, t.date_key, t.agent_user_id, t.agent_name, t.heard_agent_name, t.call_purpose
from reporting.fct_transcript t
where exists (select from warehouse.transcript_kpis x where x.transcript_id = t.transcript_id);

comment on view reporting.kpi_pivot is 'One row is a transcript that was measured; the account''s own measures are its columns; a new measure becomes a column at the end. Filter on call_started_at.';
comment on column reporting.kpi_pivot.transcript_id is 'The transcript.';
comment on column reporting.kpi_pivot.call_id is 'Its call.';
comment on column reporting.kpi_pivot.call_started_at is 'Start of the call.';
comment on column reporting.kpi_pivot.local_date is 'Its local day.';
comment on column reporting.kpi_pivot.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.kpi_pivot.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_pivot.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.kpi_pivot.heard_agent_name is 'The agent''s name as the analysis heard it, which is no user of the account; NULL = none heard.';
comment on column reporting.kpi_pivot.call_purpose is 'The account''s own word; NULL = not analysed.';

select ops.widen_kpi_pivot();
