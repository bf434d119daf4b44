create view reporting.action_backlog as
select call_id, call_started_at, local_date, date_key, is_urgent, transcript_count, transcript_id, note, short_summary, agent_user_id, user_key, number_key, contact_key, agent_name,
  heard_agent_name, external_number, account_number, followed_up_by as texted_by
from reporting.fct_action
where is_open;

comment on view reporting.action_backlog is 'One row is an open action: a call after which somebody should act, by its analysis, and after which no call and no text of a user has gone to the customer. Filter on call_started_at. Those that were followed up stand in fct_action.';
comment on column reporting.action_backlog.call_id is 'The call; the key.';
comment on column reporting.action_backlog.call_started_at is 'Start of the call.';
comment on column reporting.action_backlog.local_date is 'Its local day.';
comment on column reporting.action_backlog.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.action_backlog.is_urgent is 'Whether one of its transcripts says: at once.';
comment on column reporting.action_backlog.transcript_count is 'Transcripts of the call that say that somebody should act.';
comment on column reporting.action_backlog.transcript_id is 'The first of these, urgent ones first.';
comment on column reporting.action_backlog.note is 'What to do, a line for each of these, the urgent note first; only while params.is_text_shown.';
comment on column reporting.action_backlog.short_summary is 'What the leg of the first transcript was about, only while params.is_text_shown; NULL, too, when summarisation did not run.';
comment on column reporting.action_backlog.agent_user_id is 'User who had the extension of that leg; NULL = not known. See dim_user.';
comment on column reporting.action_backlog.agent_name is 'That user''s name; NULL where the user is not known.';
comment on column reporting.action_backlog.heard_agent_name is 'The agent''s name as the analysis heard it, which is no user of the account.';
comment on column reporting.action_backlog.user_key is 'As agent_user_id; see dim_user.';
comment on column reporting.action_backlog.number_key is 'The account''s number; see dim_number.';
comment on column reporting.action_backlog.contact_key is 'The customer; see dim_contact.';
comment on column reporting.action_backlog.external_number is 'The customer; NULL on internal calls, which nothing can follow up here.';
comment on column reporting.action_backlog.account_number is 'The account''s number.';
comment on column reporting.action_backlog.texted_by is 'For information, whether the customer was texted all the same: automatic_text by a rule, or text_by_unknown, whose sender is unknown; NULL = no text.';
