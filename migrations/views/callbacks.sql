create view reporting.callbacks as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  account_number,
  coalesce(account_number, 'unknown') as number_key,
  missed_count,
  voicemail_count,
  short_abandoned_count,
  called_back_count + outbound_call_count + caller_got_through_count + text_count as returned_count,
  called_back_count,
  outbound_call_count,
  caller_got_through_count,
  text_count,
  missed_count - called_back_count - outbound_call_count - caller_got_through_count - text_count as unreturned_count,
  round(100.0 * (called_back_count + outbound_call_count + caller_got_through_count + text_count) / missed_count, 2) as return_rate_pct,
  automatic_text_count,
  text_by_unknown_count,
  rule_texted_count,
  reached_count,
  called_back_count + outbound_call_count + caller_got_through_count + text_count - reached_count as tried_count,
  return_time_count,
  within_1_hour_count,
  within_4_hours_count,
  within_business_day_count,
  minutes_to_return_p50,
  business_return_count,
  business_minutes_to_return_p50
from rollups.callback_rollup;

comment on view reporting.callbacks is 'One row is a local day and number on which calls were missed, and how they were returned. Like missed_calls, it leaves out callers without a number, whom call_daily counts.';
comment on column reporting.callbacks.local_date is 'Local day of the missed calls.';
comment on column reporting.callbacks.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.callbacks.account_number is 'The account''s number that was called; NULL = not reported: join with number_key.';
comment on column reporting.callbacks.number_key is 'The same, unknown where none is reported; see dim_number.';
comment on column reporting.callbacks.missed_count is 'Inbound external calls with a caller''s number that nobody answered, mailbox and short-abandoned included: of call_daily the sum of missed_count, abandoned_count, short_abandoned_count and voicemail_count, less callers without a number.';
comment on column reporting.callbacks.voicemail_count is 'Of these, ended in a mailbox.';
comment on column reporting.callbacks.short_abandoned_count is 'Of these, given up within the short-abandon threshold.';
comment on column reporting.callbacks.returned_count is 'Returned by a person, or by the caller who got through, within the callback window of params. A text of a rule or of an unknown sender is no return.';
comment on column reporting.callbacks.called_back_count is 'Returned by the service''s word.';
comment on column reporting.callbacks.outbound_call_count is 'Returned by a call to the number, answered or not.';
comment on column reporting.callbacks.caller_got_through_count is 'The caller called again and was answered.';
comment on column reporting.callbacks.text_count is 'Returned by a text of a user to the number.';
comment on column reporting.callbacks.unreturned_count is 'Not returned, or not yet; those that only a rule or an unknown sender texted are among them.';
comment on column reporting.callbacks.return_rate_pct is 'Returned, of all missed, in percent. Young days are still rising.';
comment on column reporting.callbacks.automatic_text_count is 'Of unreturned_count, those to which a rule sent the first text: beside the returned ones, not among them.';
comment on column reporting.callbacks.text_by_unknown_count is 'Of unreturned_count, those to which the first text has no known sender: another integration, or a person behind one.';
comment on column reporting.callbacks.rule_texted_count is 'Of missed_count, those that a rule texted within the callback window, whether a person returned them or not.';
comment on column reporting.callbacks.reached_count is 'Of returned_count, those on which somebody then spoke with the caller: reached_at of missed_calls.';
comment on column reporting.callbacks.tried_count is 'Of returned_count, the others: nobody answered our calls, or the return was a text.';
comment on column reporting.callbacks.within_1_hour_count is 'Returned within an hour of the start of the call.';
comment on column reporting.callbacks.within_4_hours_count is 'Returned within four hours, those within one included.';
comment on column reporting.callbacks.within_business_day_count is 'Returned by the end of the next business day, those within four hours included.';
comment on column reporting.callbacks.business_return_count is 'Of return_time_count, those with business time to measure: the n of business_minutes_to_return_p50. The others came and were returned while closed, with no business hours in between.';
comment on column reporting.callbacks.business_minutes_to_return_p50 is 'Half of these were returned within so many minutes of business time.';
comment on column reporting.callbacks.return_time_count is 'Returned at a known time: the n of minutes_to_return_p50.';
comment on column reporting.callbacks.minutes_to_return_p50 is 'Half of them were returned within so many minutes. Medians do not add up: for a month, take missed_calls.';
