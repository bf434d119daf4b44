create view reporting.sentiment_daily as
select r.local_date, reporting.date_key(r.local_date) as date_key, r.agent_user_id, u.user_name as agent_name, r.heard_name as heard_agent_name, r.call_sentiment, r.transcript_count
from rollups.sentiment_rollup r
  left join reporting.dim_user u on u.user_id = r.agent_user_id;

comment on view reporting.sentiment_daily is 'One row is the transcripts of a local day, agent (the user, or where none is known the name that was heard) and sentiment. Those without a sentiment are left out: quality_daily counts them.';
comment on column reporting.sentiment_daily.local_date is 'Local day of the call.';
comment on column reporting.sentiment_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sentiment_daily.agent_user_id is 'Who had the extension of the recorded leg; NULL = not known.';
comment on column reporting.sentiment_daily.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.sentiment_daily.heard_agent_name is 'Where the user is not known, the agent''s name as the analysis heard it, which is no user of the account; NULL = none heard.';
comment on column reporting.sentiment_daily.call_sentiment is 'The account''s own word.';
comment on column reporting.sentiment_daily.transcript_count is 'Transcripts.';
