create view reporting.sms_daily as
select
  k.local_date,
  reporting.date_key(k.local_date) as date_key,
  k.line,
  k.line as line_key,
  coalesce(t.inbound_count, 0) as inbound_count,
  coalesce(t.outbound_count, 0) as outbound_count,
  coalesce(t.outbound_user_count, 0) as outbound_user_count,
  coalesce(t.outbound_automatic_count, 0) as outbound_automatic_count,
  coalesce(t.outbound_unknown_count, 0) as outbound_unknown_count,
  coalesce(t.outbound_user_estimated_segment_count, 0) as outbound_user_estimated_segment_count,
  coalesce(t.number_count, 0) as number_count,
  coalesce(t.conversation_count, 0) as conversation_count,
  coalesce(t.media_message_count, 0) as media_message_count,
  coalesce(t.delivered_count, 0) as delivered_count,
  coalesce(t.failed_count, 0) as failed_count,
  coalesce(t.undetermined_count, 0) as undetermined_count,
  coalesce(t.no_receipt_count, 0) as no_receipt_count,
  coalesce(t.blocked_count, 0) as blocked_count,
  coalesce(t.failures, '[]') as failures,
  round(100.0 * t.failed_count / nullif(t.failed_count + t.delivered_count, 0), 2) as failure_rate_pct,
  round(100.0 * (t.failed_count + t.delivered_count) / nullif(t.outbound_count - t.blocked_count, 0), 2) as receipt_coverage_pct,
  coalesce(c.sent_count, 0) as rule_sent_count,
  coalesce(c.segment_count, 0) as rule_segment_count,
  (coalesce(c.charged_micros, 0) / 1000000.0)::numeric(12, 6) as charged_usd,
  coalesce(c.unpriced_count, 0) as unpriced_count,
  (coalesce(c.unpriced_set_aside_micros, 0) / 1000000.0)::numeric(12, 6) as unpriced_set_aside_usd,
  coalesce(c.open_count, 0) as open_count,
  (coalesce(c.open_set_aside_micros, 0) / 1000000.0)::numeric(12, 6) as open_set_aside_usd
from (
  select local_date, line from rollups.sms_day_rollup
  union
  select local_date, line from rollups.sms_cost_rollup
) k
  left join rollups.sms_day_rollup t on t.local_date = k.local_date and t.line = k.line
  left join rollups.sms_cost_rollup c on c.local_date = k.local_date and c.line = k.line;

comment on view reporting.sms_daily is 'One row per local day and line with texts: how many, how carriers delivered them, and the cost of those sent by rules, from the send ledger. The service reports no price for texts by people or other integrations, so no sum here equals the invoice.';
comment on column reporting.sms_daily.local_date is 'Local day.';
comment on column reporting.sms_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sms_daily.line is 'The account''s line.';
comment on column reporting.sms_daily.line_key is 'The same; see dim_number.';
comment on column reporting.sms_daily.inbound_count is 'Texts of customers.';
comment on column reporting.sms_daily.outbound_count is 'Outbound texts, including blocked ones, which were charged.';
comment on column reporting.sms_daily.outbound_user_count is 'Of these, sent by a user.';
comment on column reporting.sms_daily.outbound_automatic_count is 'Of these, sent by a rule, through the ledger.';
comment on column reporting.sms_daily.outbound_unknown_count is 'Of these, without a known sender: the service names no user and the ledger did not send them, so it was another integration, or a person using one.';
comment on column reporting.sms_daily.outbound_user_estimated_segment_count is 'Segments of the texts without files sent by users, estimated from their words: the service reports neither segments nor price.';
comment on column reporting.sms_daily.number_count is 'Distinct numbers. Cannot be summed over days or lines.';
comment on column reporting.sms_daily.conversation_count is 'Distinct conversations; a group counts as one. Cannot be summed over days.';
comment on column reporting.sms_daily.media_message_count is 'Texts with attached files.';
comment on column reporting.sms_daily.delivered_count is 'Outbound: delivered, according to the carrier.';
comment on column reporting.sms_daily.failed_count is 'Outbound: failed, according to the carrier.';
comment on column reporting.sms_daily.undetermined_count is 'Outbound: on its way, or a word that is not mapped.';
comment on column reporting.sms_daily.no_receipt_count is 'Outbound: the carrier has reported nothing, which does not mean failed.';
comment on column reporting.sms_daily.blocked_count is 'Outbound: not delivered because the number is blocked on the line; charged all the same.';
comment on column reporting.sms_daily.failures is 'Failed, blocked and unmapped texts by the carrier''s own words: objects with class, status, error and texts; see the cookbook.';
comment on column reporting.sms_daily.failure_rate_pct is 'Failed, in percent of the texts with a final receipt. Compare it with receipt_coverage_pct: it means little if few texts have a receipt.';
comment on column reporting.sms_daily.receipt_coverage_pct is 'Texts with a final receipt, in percent of the outbound texts that were not blocked.';
comment on column reporting.sms_daily.rule_sent_count is 'Texts sent by rules, from the send ledger. Includes texts found in the thread after their answer was lost.';
comment on column reporting.sms_daily.rule_segment_count is 'Their units: segments of sms, 1 for mms; the worst case where the bill is not known.';
comment on column reporting.sms_daily.charged_usd is 'Dollars charged by the service (settled), for texts whose price it reported.';
comment on column reporting.sms_daily.unpriced_count is 'Texts sent by rules whose price is unknown because the answer was lost. Not included in charged_usd.';
comment on column reporting.sms_daily.unpriced_set_aside_usd is 'Dollars that the budgets count for these: the worst case, not the actual charge.';
comment on column reporting.sms_daily.open_count is 'Texts of rules from that day that are in progress or have an unknown outcome.';
comment on column reporting.sms_daily.open_set_aside_usd is 'Dollars reserved for these: the worst case.';
