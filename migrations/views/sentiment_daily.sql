create view reporting.sentiment_daily as
select r.local_date, r.agent_user_id, coalesce(u.user_name, r.heard_name) as agent_name, r.call_sentiment, r.transcript_count
from rollups.sentiment_rollup r
  left join reporting.dim_user u on u.user_id = r.agent_user_id;

comment on view reporting.sentiment_daily is 'Transcripts by the local day of their call, agent and sentiment. Those without a sentiment are left out: quality_daily counts them.';
comment on column reporting.sentiment_daily.local_date is 'Local day of the call.';
comment on column reporting.sentiment_daily.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.sentiment_daily.agent_name is 'That user''s name, else the name that the analysis heard; NULL = neither.';
comment on column reporting.sentiment_daily.call_sentiment is 'The account''s own word.';
comment on column reporting.sentiment_daily.transcript_count is 'Transcripts.';
