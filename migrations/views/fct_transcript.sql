create view reporting.fct_transcript as
select
  a.transcript_id,
  a.call_id,
  a.call_started_at,
  a.local_date,
  reporting.date_key(a.local_date) as date_key,
  t.leg_unique_id,
  t.leg_pairing,
  a.call_purpose,
  a.call_sentiment,
  a.csat_score,
  case when p.is_text_shown then t.csat_note end as csat_note,
  a.agent_performance_score,
  case when p.is_text_shown then t.agent_performance_note end as agent_performance_note,
  a.is_action_required,
  case when p.is_text_shown then t.action_required_note end as action_required_note,
  a.is_urgent_action_required,
  case when p.is_text_shown then t.urgent_action_required_note end as urgent_action_required_note,
  case when p.is_text_shown then t.short_summary end as short_summary,
  case when p.is_text_shown then t.bullet_points end as bullet_points,
  a.agent_user_id as user_key,
  u.user_name as agent_name,
  nullif(t.agent_name, '') as heard_agent_name,
  t.agent_talk_seconds,
  t.customer_talk_seconds,
  t.agent_talk_seconds / nullif(t.agent_talk_seconds + t.customer_talk_seconds, 0) as agent_talk_share,
  t.segment_count
from rollups.transcript_agents a
  cross join reporting.params p
  -- Left out of a plan that shows scores and words of the analysis alone.
  left join warehouse.transcripts t on t.transcript_id = a.transcript_id and t.deleted_at is null
  left join reporting.dim_user u on u.user_id = a.agent_user_id;

comment on view reporting.fct_transcript is 'One row per transcript of a mirrored call; a call has one for each recorded leg. Filter on call_started_at. Use reporting.search to find what was said.';
comment on column reporting.fct_transcript.transcript_id is 'The service''s id.';
comment on column reporting.fct_transcript.call_id is 'The call.';
comment on column reporting.fct_transcript.call_started_at is 'Start of the call.';
comment on column reporting.fct_transcript.local_date is 'Its local day.';
comment on column reporting.fct_transcript.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.fct_transcript.leg_unique_id is 'The recorded leg; NULL = unknown (never guessed).';
comment on column reporting.fct_transcript.leg_pairing is 'How the leg was found: exact, substring, single_leg; ambiguous or none = not found.';
comment on column reporting.fct_transcript.call_purpose is 'The account''s own word; NULL = not analysed.';
comment on column reporting.fct_transcript.call_sentiment is 'The account''s own word; NULL = not analysed.';
comment on column reporting.fct_transcript.csat_score is 'Customer satisfaction as judged by the analysis (the customer was not asked); NULL = not analysed, which does not mean zero.';
comment on column reporting.fct_transcript.csat_note is 'Why that score, only while params.is_text_shown.';
comment on column reporting.fct_transcript.agent_performance_score is 'Agent performance as judged by the analysis; NULL = not analysed, which does not mean zero.';
comment on column reporting.fct_transcript.agent_performance_note is 'Why that score, only while params.is_text_shown.';
comment on column reporting.fct_transcript.is_action_required is 'Somebody should act; NULL = not analysed.';
comment on column reporting.fct_transcript.action_required_note is 'What to do, only while params.is_text_shown.';
comment on column reporting.fct_transcript.is_urgent_action_required is 'Somebody should act at once; NULL = not analysed.';
comment on column reporting.fct_transcript.urgent_action_required_note is 'What to do, only while params.is_text_shown.';
comment on column reporting.fct_transcript.short_summary is 'Summary, only while params.is_text_shown; also NULL when summarisation did not run, or when RETENTION_DAYS has removed it together with the main points and notes.';
comment on column reporting.fct_transcript.bullet_points is 'Main points, only while params.is_text_shown.';
comment on column reporting.fct_transcript.user_key is 'Who had the extension of the recorded leg when the call started; NULL = not known. See dim_user.';
comment on column reporting.fct_transcript.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.fct_transcript.heard_agent_name is 'The agent''s name as the analysis heard it, not matched to a user; NULL = none heard.';
comment on column reporting.fct_transcript.agent_talk_seconds is 'Time the agent spoke; NULL when it is not known which speaker is the agent.';
comment on column reporting.fct_transcript.customer_talk_seconds is 'Time others spoke; NULL when it is not known which speaker is the agent.';
comment on column reporting.fct_transcript.agent_talk_share is 'The agent''s fraction of both, 0 to 1.';
comment on column reporting.fct_transcript.segment_count is 'Utterances.';
