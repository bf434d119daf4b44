-- One row per transcript of a mirrored call; a call has one for each recorded leg. Filter on call_started_at. Use reporting.search to find
-- what was said.
create view reporting.fct_transcript as
select
  a.transcript_id, -- The service's id.
  a.call_id, -- The call.
  a.call_started_at, -- Start of the call.
  a.local_date, -- Its local day.
  a.call_purpose, -- The account's own word; NULL = not analysed.
  a.call_sentiment, -- The account's own word; NULL = not analysed.
  -- Customer satisfaction as judged by the analysis (the customer was not asked); NULL = not analysed, which does not mean zero.
  a.csat_score,
  a.agent_performance_score, -- Agent performance as judged by the analysis; NULL = not analysed, which does not mean zero.
  -- Summary, only while params.is_text_shown; also NULL when summarisation did not run, or when RETENTION_DAYS has removed it.
  case when p.is_text_shown then t.short_summary end as short_summary,
  a.agent_user_id as user_key, -- Who had the extension of the recorded leg when the call started; NULL = not known. See dim_user.
  u.user_name as agent_name, -- That user's name; NULL where the user is not known.
  -- The agent's name as the analysis heard it, not matched to a user; NULL = none heard. Looked up only where it is asked for.
  (select nullif(x.agent_name, '') from warehouse.transcripts x
   where x.transcript_id = a.transcript_id and x.deleted_at is null) as heard_agent_name,
  t.agent_talk_seconds, -- Time the agent spoke; NULL when it is not known which speaker is the agent.
  t.customer_talk_seconds, -- Time others spoke; NULL when it is not known which speaker is the agent.
  t.changed_at -- When the analysis last changed in the mirror: for incremental imports.
from rollups.transcript_agents a
  cross join reporting.params p
  -- Left out of a plan that shows scores and words of the analysis alone.
  left join warehouse.transcripts t on t.transcript_id = a.transcript_id and t.deleted_at is null
  left join reporting.dim_user u on u.user_key = a.agent_user_id;
