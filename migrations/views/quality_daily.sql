create view reporting.quality_daily as
select
  r.local_date,
  reporting.date_key(r.local_date) as date_key,
  r.agent_user_id,
  u.user_name as agent_name,
  r.heard_name as heard_agent_name,
  call_purpose,
  transcript_count,
  csat_count,
  round(csat_sum::numeric / nullif(csat_count, 0), 2) as csat_avg,
  csat_sum,
  performance_count,
  round(performance_sum::numeric / nullif(performance_count, 0), 2) as performance_avg,
  performance_sum,
  analysed_action_count,
  action_count,
  urgent_action_count,
  talk_share_count,
  round((talk_share_sum / nullif(talk_share_count, 0))::numeric, 3) as agent_talk_share_avg,
  unpaired_count
from rollups.quality_rollup r
  left join reporting.dim_user u on u.user_id = r.agent_user_id;

comment on view reporting.quality_daily is 'One row is the transcripts of a local day, agent (the user, or where none is known the name that was heard) and purpose. Averages do not add up: for a week, divide csat_sum by csat_count. A score that was not analysed counts nowhere.';
comment on column reporting.quality_daily.local_date is 'Local day of the call.';
comment on column reporting.quality_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.quality_daily.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.quality_daily.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.quality_daily.heard_agent_name is 'Where the user is not known, the agent''s name as the analysis heard it, which is no user of the account; NULL = none heard.';
comment on column reporting.quality_daily.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.quality_daily.transcript_count is 'Transcripts; a call has one for each recorded leg.';
comment on column reporting.quality_daily.csat_count is 'Transcripts with a satisfaction score: the n of csat_avg.';
comment on column reporting.quality_daily.csat_avg is 'Average satisfaction as the analysis judges it; NULL without a score.';
comment on column reporting.quality_daily.csat_sum is 'The scores together.';
comment on column reporting.quality_daily.performance_count is 'Transcripts with a performance score: the n of performance_avg.';
comment on column reporting.quality_daily.performance_avg is 'Average agent performance as the analysis judges it; NULL without a score.';
comment on column reporting.quality_daily.performance_sum is 'The scores together.';
comment on column reporting.quality_daily.analysed_action_count is 'Transcripts that say whether somebody should act.';
comment on column reporting.quality_daily.action_count is 'Of these, those where somebody should.';
comment on column reporting.quality_daily.urgent_action_count is 'Transcripts where somebody should act at once.';
comment on column reporting.quality_daily.talk_share_count is 'Transcripts in which it is known who is the agent: the n of agent_talk_share_avg.';
comment on column reporting.quality_daily.agent_talk_share_avg is 'Average share of the agent in the talk, 0 to 1.';
comment on column reporting.quality_daily.unpaired_count is 'Transcripts whose recorded leg is not known, so that the agent is only a name.';
