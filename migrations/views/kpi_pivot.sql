create view reporting.kpi_pivot as
select transcript_id, call_id, call_started_at, local_date, agent_user_id, agent_name, call_purpose
from reporting.kpi_scores
group by 1, 2, 3, 4, 5, 6, 7;

comment on view reporting.kpi_pivot is 'The account''s own measures, one row per transcript and one column per measure; a new measure becomes a column at the end. Filter on call_started_at.';
comment on column reporting.kpi_pivot.transcript_id is 'The transcript.';
comment on column reporting.kpi_pivot.call_id is 'Its call.';
comment on column reporting.kpi_pivot.call_started_at is 'Start of the call.';
comment on column reporting.kpi_pivot.local_date is 'Its local day.';
comment on column reporting.kpi_pivot.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_pivot.agent_name is 'That user''s name, else the name that the analysis heard; NULL = neither.';
comment on column reporting.kpi_pivot.call_purpose is 'The account''s own word; NULL = not analysed.';

select ops.widen_kpi_pivot();
