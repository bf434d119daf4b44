create view reporting.voicemails as
select
  m.call_id,
  m.started_at,
  m.local_date,
  reporting.date_key(m.local_date) as date_key,
  m.external_number,
  m.caller_name,
  m.account_number,
  m.returned_by,
  m.returned_at,
  m.minutes_to_return,
  m.is_unreturned,
  t.transcript_id,
  case when (select is_text_shown from reporting.params) then t.short_summary end as short_summary,
  t.call_sentiment,
  t.is_action_required
from reporting.missed_calls m
  -- Both joins are left out of a plan that shows nothing of the transcript.
  left join lateral (
    select min(x.transcript_id) as transcript_id from warehouse.transcripts x where x.call_id = m.call_id and x.deleted_at is null
  ) first on true
  left join warehouse.transcripts t on t.transcript_id = first.transcript_id
where m.outcome = 'voicemail';

comment on view reporting.voicemails is 'One row is a call that ended in a mailbox, whether it was returned, and what the analysis says of the message. Like missed_calls, it leaves out callers without a number, whom call_daily counts.';
comment on column reporting.voicemails.call_id is 'The call.';
comment on column reporting.voicemails.started_at is 'Its start.';
comment on column reporting.voicemails.local_date is 'Its local day.';
comment on column reporting.voicemails.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.voicemails.external_number is 'The caller.';
comment on column reporting.voicemails.caller_name is 'The caller''s name.';
comment on column reporting.voicemails.account_number is 'The account''s number that was called.';
comment on column reporting.voicemails.returned_by is 'As in missed_calls: automatic_text and text_by_unknown are no return; NULL = nothing came.';
comment on column reporting.voicemails.returned_at is 'When it was returned.';
comment on column reporting.voicemails.minutes_to_return is 'From the start of the call.';
comment on column reporting.voicemails.is_unreturned is 'No person is known to have returned it within the window, or not yet. Stays true when only rules or unknown senders texted.';
comment on column reporting.voicemails.transcript_id is 'Its first transcript; NULL = none held.';
comment on column reporting.voicemails.short_summary is 'Summary of the message, only while params.is_text_shown; NULL, too, when it was not analysed.';
comment on column reporting.voicemails.call_sentiment is 'The account''s own word; NULL = not analysed.';
comment on column reporting.voicemails.is_action_required is 'Somebody should act; NULL = not analysed.';
