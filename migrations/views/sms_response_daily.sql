create view reporting.sms_response_daily as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  line as line_key,
  line,
  turn_count,
  session_count,
  replied_count,
  turn_count - replied_count as unreplied_count,
  user_replied_count,
  automatic_first_count,
  unknown_first_count,
  reply_p50_seconds,
  reply_p90_seconds,
  user_reply_p50_seconds,
  user_reply_p90_seconds,
  user_reply_business_count,
  user_reply_p50_business_seconds,
  user_reply_p90_business_seconds,
  first_response_count,
  first_response_p50_seconds,
  first_response_p90_seconds,
  first_response_business_count,
  first_response_p50_business_seconds,
  first_response_p90_business_seconds
from rollups.sms_response_rollup;

comment on view reporting.sms_response_daily is 'One row is a local day and line on which turns began, and how fast they were replied to. Percentiles do not add up: for a week or for all lines, take them from fct_sms_turn.';
comment on column reporting.sms_response_daily.local_date is 'Local day on which the turns began.';
comment on column reporting.sms_response_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sms_response_daily.line_key is 'The account''s line; see dim_line.';
comment on column reporting.sms_response_daily.line is 'The account''s line.';
comment on column reporting.sms_response_daily.turn_count is 'Turns: a customer texted and it was our turn.';
comment on column reporting.sms_response_daily.session_count is 'Of these, turns that began a session: a new conversation, or one after a silence longer than the session gap.';
comment on column reporting.sms_response_daily.replied_count is 'Turns with any reply: the n of the reply percentiles.';
comment on column reporting.sms_response_daily.unreplied_count is 'Turns without, or not yet. A closing "thanks" is among them.';
comment on column reporting.sms_response_daily.user_replied_count is 'Turns with a reply of a person: the n of the user_reply percentiles.';
comment on column reporting.sms_response_daily.automatic_first_count is 'Turns that a rule replied to first.';
comment on column reporting.sms_response_daily.unknown_first_count is 'Turns whose first reply has no known sender; with automatic_first_count and the first replies of users they add up to replied_count.';
comment on column reporting.sms_response_daily.reply_p50_seconds is 'Half of the first replies, automatic ones included, came within this calendar time.';
comment on column reporting.sms_response_daily.reply_p90_seconds is 'Nine of ten did.';
comment on column reporting.sms_response_daily.user_reply_p50_seconds is 'Half of the first replies of a person came within this calendar time.';
comment on column reporting.sms_response_daily.user_reply_p90_seconds is 'Nine of ten did.';
comment on column reporting.sms_response_daily.user_reply_business_count is 'Of user_replied_count, turns with business time to measure: the n of the next two. The others began and were replied to while closed, with no business hours in between.';
comment on column reporting.sms_response_daily.user_reply_p50_business_seconds is 'Half of these turns were replied to by a person within this business time.';
comment on column reporting.sms_response_daily.user_reply_p90_business_seconds is 'Nine of ten were.';
comment on column reporting.sms_response_daily.first_response_count is 'Sessions that a person replied to: the n of the first_response percentiles.';
comment on column reporting.sms_response_daily.first_response_p50_seconds is 'First response of a person to a new session: half within this calendar time.';
comment on column reporting.sms_response_daily.first_response_p90_seconds is 'Nine of ten within this calendar time.';
comment on column reporting.sms_response_daily.first_response_business_count is 'Of first_response_count, sessions with business time to measure, as in user_reply_business_count: the n of the next two.';
comment on column reporting.sms_response_daily.first_response_p50_business_seconds is 'Half of these sessions got their first response within this business time.';
comment on column reporting.sms_response_daily.first_response_p90_business_seconds is 'Nine of ten did.';
