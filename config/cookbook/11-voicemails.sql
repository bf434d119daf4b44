-- Voicemails
-- Which voicemails wait for an answer, and what do they say?
-- says: {count(*)} [voicemail waits|voicemails wait] for an answer.
-- Mailboxes in which nobody left a message are left out.
select m.started_at, m.external_number, m.caller_name, m.account_number, m.message_seconds, m.returned_by as only_texted_by, t.short_summary, m.call_id
from reporting.missed_calls m
  left join reporting.fct_transcript t on t.call_id = m.call_id and t.call_started_at = m.started_at
where m.outcome = 'voicemail' and m.is_unreturned and m.is_message_left is not false
  and m.started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 13))
  and m.started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
order by m.started_at desc, m.call_id;
