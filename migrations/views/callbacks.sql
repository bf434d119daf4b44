create view reporting.callbacks as
select
  local_date,
  account_number,
  count(*) as missed_count,
  count(*) filter (where outcome = 'voicemail') as voicemail_count,
  count(*) filter (where outcome = 'short_abandoned') as short_abandoned_count,
  count(returned_by) as returned_count,
  count(*) filter (where returned_by = 'called_back') as called_back_count,
  count(*) filter (where returned_by = 'outbound_call') as outbound_call_count,
  count(*) filter (where returned_by = 'caller_got_through') as caller_got_through_count,
  count(*) filter (where returned_by = 'text') as text_count,
  count(*) filter (where returned_by is null) as unreturned_count,
  round(100.0 * count(returned_by) / count(*), 2) as return_rate_pct,
  count(returned_at) as return_time_count,
  round((percentile_cont(0.5) within group (order by extract(epoch from returned_at - started_at)) / 60)::numeric, 1) as minutes_to_return_p50
from reporting.missed_call_returns
group by local_date, account_number;

comment on view reporting.callbacks is 'How missed calls were returned, by the local day on which they were missed and the number that was called.';
comment on column reporting.callbacks.local_date is 'Local day of the missed calls.';
comment on column reporting.callbacks.account_number is 'The account''s number that was called; NULL = not reported.';
comment on column reporting.callbacks.missed_count is 'Inbound external calls that nobody answered, mailbox and short-abandoned included.';
comment on column reporting.callbacks.voicemail_count is 'Of these, ended in a mailbox.';
comment on column reporting.callbacks.short_abandoned_count is 'Of these, given up within the short-abandon threshold.';
comment on column reporting.callbacks.returned_count is 'Returned in any way within the callback window of params.';
comment on column reporting.callbacks.called_back_count is 'Returned by the service''s word.';
comment on column reporting.callbacks.outbound_call_count is 'Returned by a call to the number, answered or not.';
comment on column reporting.callbacks.caller_got_through_count is 'The caller called again and was answered.';
comment on column reporting.callbacks.text_count is 'Returned by a text to the number.';
comment on column reporting.callbacks.unreturned_count is 'Not returned, or not yet.';
comment on column reporting.callbacks.return_rate_pct is 'Returned, of all missed, in percent. Young days are still rising.';
comment on column reporting.callbacks.return_time_count is 'Returned at a known time: the n of minutes_to_return_p50.';
comment on column reporting.callbacks.minutes_to_return_p50 is 'Half of them were returned within so many minutes. Medians do not add up: for a month, take missed_calls.';
