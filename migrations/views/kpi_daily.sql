create view reporting.kpi_daily as
select
  r.local_date,
  reporting.date_key(r.local_date) as date_key,
  r.agent_user_id,
  u.user_name as agent_name,
  r.heard_name as heard_agent_name,
  r.kpi_name,
  r.transcript_count,
  r.score_count,
  round(r.score_sum::numeric / nullif(r.score_count, 0), 2) as score_avg,
  r.score_sum
from rollups.kpi_rollup r
  left join reporting.dim_user u on u.user_id = r.agent_user_id;

comment on view reporting.kpi_daily is 'One row is one of the account''s own measures on a local day of calls, by agent (the user, or where none is known the name that was heard). Averages do not add up: for a week, divide score_sum by score_count. A measure that was not scored counts nowhere.';
comment on column reporting.kpi_daily.local_date is 'Local day of the call.';
comment on column reporting.kpi_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.kpi_daily.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.kpi_daily.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.kpi_daily.heard_agent_name is 'Where the user is not known, the agent''s name as the analysis heard it, which is no user of the account; NULL = none heard.';
comment on column reporting.kpi_daily.kpi_name is 'Name of the measure.';
comment on column reporting.kpi_daily.transcript_count is 'Transcripts that the measure was taken of, scored or not.';
comment on column reporting.kpi_daily.score_count is 'Of these, scored: the n of score_avg.';
comment on column reporting.kpi_daily.score_avg is 'Average of the scores; NULL = none was scored, which is not zero.';
comment on column reporting.kpi_daily.score_sum is 'The scores together.';
