create view reporting.sms_cost_daily as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  line as line_key,
  line,
  message_type,
  sent_count,
  segment_count,
  (charged_micros / 1000000.0)::numeric(12, 6) as charged_usd,
  unpriced_count,
  (unpriced_set_aside_micros / 1000000.0)::numeric(12, 6) as unpriced_set_aside_usd,
  open_count,
  (open_set_aside_micros / 1000000.0)::numeric(12, 6) as open_set_aside_usd,
  (charged_micros / 1000000.0 / nullif(sent_count - unpriced_count, 0))::numeric(12, 6) as charged_per_text_usd
from rollups.sms_cost_rollup;

comment on view reporting.sms_cost_daily is 'One row is a local day, line and type of texts, and what they cost: those of rules alone, from the send ledger. The service reports no price of what people send in the portal or other integrations send, so that is not here, and no sum of this is the invoice.';
comment on column reporting.sms_cost_daily.local_date is 'Local day on which the texts went out; of those under way, on which their budget was reserved.';
comment on column reporting.sms_cost_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sms_cost_daily.line_key is 'The account''s line; see dim_line.';
comment on column reporting.sms_cost_daily.line is 'The account''s line.';
comment on column reporting.sms_cost_daily.message_type is 'sms or mms, as billed; as reckoned where the bill is not known. NULL = neither.';
comment on column reporting.sms_cost_daily.sent_count is 'Texts sent, those found in the thread after their answer was lost included.';
comment on column reporting.sms_cost_daily.segment_count is 'Their units: segments of sms, 1 for mms; the worst case where the bill is not known.';
comment on column reporting.sms_cost_daily.charged_usd is 'Dollars that the service charged (settled), of the texts whose price it reported.';
comment on column reporting.sms_cost_daily.unpriced_count is 'Texts sent whose price was not reported: their answer was lost. They are not in charged_usd.';
comment on column reporting.sms_cost_daily.unpriced_set_aside_usd is 'Dollars that the budgets count for these: the worst case, not what was charged.';
comment on column reporting.sms_cost_daily.open_count is 'Texts under way, or of which it is not known whether they were sent.';
comment on column reporting.sms_cost_daily.open_set_aside_usd is 'Dollars reserved for these: the worst case.';
comment on column reporting.sms_cost_daily.charged_per_text_usd is 'Charged per text whose price was reported.';
