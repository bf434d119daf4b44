create view reporting.sms_daily as
select
  r.*,
  reporting.date_key(r.local_date) as date_key,
  r.line as line_key,
  round(100.0 * failed_count / nullif(failed_count + delivered_count, 0), 2) as failure_rate_pct,
  round(100.0 * (failed_count + delivered_count) / nullif(outbound_count - blocked_count, 0), 2) as receipt_coverage_pct
from rollups.sms_day_rollup r;

comment on view reporting.sms_daily is 'One row is a local day and line with texts. What portal sends cost is not reported by the service and stands nowhere.';
comment on column reporting.sms_daily.local_date is 'Local day.';
comment on column reporting.sms_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sms_daily.line_key is 'The account''s line; see dim_line.';
comment on column reporting.sms_daily.line is 'The account''s line.';
comment on column reporting.sms_daily.inbound_count is 'Texts of customers.';
comment on column reporting.sms_daily.outbound_count is 'Texts of ours, blocked ones included: they were charged.';
comment on column reporting.sms_daily.outbound_user_count is 'Of these, sent by a user.';
comment on column reporting.sms_daily.outbound_automatic_count is 'Of these, sent by a rule, through the ledger.';
comment on column reporting.sms_daily.outbound_unknown_count is 'Of these, without a known sender: the service names no user and the ledger did not send them, so another integration did, or a person behind one.';
comment on column reporting.sms_daily.outbound_user_estimated_segment_count is 'Segments of the texts that users sent, estimated from their words, those with files left out: the service reports neither their segments nor their price. For texts of rules, sms_cost_daily has what was billed.';
comment on column reporting.sms_daily.number_count is 'Different numbers. They do not add up over days or lines.';
comment on column reporting.sms_daily.conversation_count is 'Different conversations, a group being one. They do not add up over days.';
comment on column reporting.sms_daily.media_message_count is 'Texts with attached files.';
comment on column reporting.sms_daily.delivered_count is 'Outbound: delivered by the carrier''s word.';
comment on column reporting.sms_daily.failed_count is 'Outbound: failed by the carrier''s word.';
comment on column reporting.sms_daily.undetermined_count is 'Outbound: on its way, or a word that is not mapped.';
comment on column reporting.sms_daily.no_receipt_count is 'Outbound: the carrier has reported nothing, which is no failure.';
comment on column reporting.sms_daily.blocked_count is 'Outbound: not delivered because the number is blocked on the line; charged all the same.';
comment on column reporting.sms_daily.failure_rate_pct is 'Failed, of what has a final receipt, in percent. Read it beside receipt_coverage_pct: with little coverage it says little.';
comment on column reporting.sms_daily.receipt_coverage_pct is 'Outbound texts with a final receipt, of all that were not blocked, in percent.';
