-- One row per local day and line with texts: how many, how carriers delivered them, and the cost of those sent by rules, from the send
-- ledger. The service reports no price for texts by people or other integrations, so no sum here equals the invoice.
create view reporting.sms_daily as
select
  k.local_date, -- Local day.
  k.line, -- The account's line.
  coalesce(t.inbound_count, 0) as inbound_count, -- Texts of customers.
  coalesce(t.outbound_count, 0) as outbound_count, -- Outbound texts, including blocked ones, which were charged.
  coalesce(t.outbound_user_count, 0) as outbound_user_count, -- Of these, sent by a user.
  coalesce(t.outbound_automatic_count, 0) as outbound_automatic_count, -- Of these, sent by a rule, through the ledger.
  -- Of these, without a known sender: the service names no user and the ledger did not send them, so it was another integration, or a
  -- person using one.
  coalesce(t.outbound_unknown_count, 0) as outbound_unknown_count,
  coalesce(t.delivered_count, 0) as delivered_count, -- Outbound: delivered, according to the carrier.
  coalesce(t.failed_count, 0) as failed_count, -- Outbound: failed, according to the carrier.
  coalesce(t.undetermined_count, 0) as undetermined_count, -- Outbound: on its way, or a word that is not mapped.
  coalesce(t.no_receipt_count, 0) as no_receipt_count, -- Outbound: the carrier has reported nothing, which does not mean failed.
  coalesce(t.blocked_count, 0) as blocked_count, -- Outbound: not delivered because the number is blocked on the line; charged all the same.
  -- Failed, blocked and unmapped texts by the carrier's own words: objects with class, status, error and texts; see the cookbook.
  coalesce(t.failures, '[]') as failures,
  -- Texts sent by rules, from the send ledger. Includes texts found in the thread after their answer was lost.
  coalesce(c.sent_count, 0) as rule_sent_count,
  -- Billed units of these texts: segments of an sms, 1 for an mms; the worst case if the bill is not known.
  coalesce(c.segment_count, 0) as rule_segment_count,
  -- Dollars charged by the service (settled), for texts whose price it reported.
  (coalesce(c.charged_micros, 0) / 1000000.0)::numeric(12, 6) as charged_usd,
  -- Texts sent by rules whose price is unknown because the answer was lost. Not included in charged_usd.
  coalesce(c.unpriced_count, 0) as unpriced_count,
  -- Dollars that the budgets count for these: the worst case, not the actual charge.
  (coalesce(c.unpriced_set_aside_micros, 0) / 1000000.0)::numeric(12, 6) as unpriced_set_aside_usd,
  (coalesce(c.open_set_aside_micros, 0) / 1000000.0)::numeric(12, 6) as open_set_aside_usd -- Dollars reserved for texts in progress or of unknown outcome.
from (
  select local_date, line from rollups.sms_day_rollup
  union
  select local_date, line from rollups.sms_cost_rollup
) k
  left join rollups.sms_day_rollup t on t.local_date = k.local_date and t.line = k.line
  left join rollups.sms_cost_rollup c on c.local_date = k.local_date and c.line = k.line;
