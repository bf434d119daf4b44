create view reporting.rule_outcomes as
select
  r.local_date,
  reporting.date_key(r.local_date) as date_key,
  r.rule,
  r.version,
  r.mode,
  r.evaluation_count,
  r.matched_count,
  round(100.0 * r.matched_count / nullif(r.evaluation_count, 0), 2) as match_rate_pct,
  r.condition_false_count,
  r.too_old_count,
  r.limited_count,
  r.stopped_count,
  r.unfit_count,
  r.error_count,
  r.action_done_count,
  r.action_would_count,
  r.action_skipped_count,
  r.action_failed_count,
  r.action_unclear_count,
  r.reply_unplanned_count,
  r.planned_count,
  r.sent_count,
  r.would_send_count,
  r.blocked_count,
  r.blocked_by_gate,
  r.skipped_count,
  r.rejected_count,
  r.not_sent_count,
  r.waiting_count,
  r.unclear_count,
  r.segment_count,
  (r.charged_micros / 1000000.0)::numeric(12, 6) as charged_usd,
  r.unpriced_count,
  (r.set_aside_micros / 1000000.0)::numeric(12, 6) as set_aside_usd,
  r.would_segment_count,
  (case when c.highest_unit_micros > 0 then r.would_segment_count * c.highest_unit_micros / 1000000.0 end)::numeric(12, 6) as would_cost_usd,
  r.replied_count,
  round(100.0 * r.replied_count / nullif(r.sent_count, 0), 2) as reply_rate_pct,
  r.opted_out_count
from rollups.rule_outcome_rollup r
  cross join ops.send_control c;

comment on view reporting.rule_outcomes is 'One row per local day, rule, version of the rules file and mode: what the rule did. The outcome of a text counts on the day it was planned. Evaluations stay counted after their runs have been deleted. A change of the time zone moves texts to other days, but not evaluations.';
comment on column reporting.rule_outcomes.local_date is 'Local day on which the rule was evaluated, or its text was planned.';
comment on column reporting.rule_outcomes.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.rule_outcomes.rule is 'Name of the rule.';
comment on column reporting.rule_outcomes.version is 'Version of the rules. Empty if it was not recorded.';
comment on column reporting.rule_outcomes.mode is 'dry-run: only recorded; live.';
comment on column reporting.rule_outcomes.evaluation_count is 'Number of evaluations, one per trigger. The counts from matched_count to error_count add up to it.';
comment on column reporting.rule_outcomes.matched_count is 'Evaluations after which the rule acts.';
comment on column reporting.rule_outcomes.match_rate_pct is 'Matched, in percent of the evaluations.';
comment on column reporting.rule_outcomes.condition_false_count is 'No action: the condition was false.';
comment on column reporting.rule_outcomes.too_old_count is 'No action: the trigger was too old.';
comment on column reporting.rule_outcomes.limited_count is 'No action: the rule''s own limit was reached.';
comment on column reporting.rule_outcomes.stopped_count is 'No action: an earlier rule had a stop.';
comment on column reporting.rule_outcomes.unfit_count is 'No action: a reaction, a group thread, no other party, a missed call that needs no call-back, the subject no longer exists, or the rule was gone before its time came (after).';
comment on column reporting.rule_outcomes.error_count is 'No action: the condition or template failed. The run has the reason.';
comment on column reporting.rule_outcomes.action_done_count is 'Steps other than replies (resolve, assign, notify and the like) that were done.';
comment on column reporting.rule_outcomes.action_would_count is 'Steps other than replies that were only recorded because of dry-run.';
comment on column reporting.rule_outcomes.action_skipped_count is 'Steps other than replies that were skipped for a reason.';
comment on column reporting.rule_outcomes.action_failed_count is 'Steps other than replies that the service refused.';
comment on column reporting.rule_outcomes.action_unclear_count is 'Steps other than replies whose answer was lost; they are not repeated.';
comment on column reporting.rule_outcomes.reply_unplanned_count is 'Replies that were not even planned: no recipient or nothing to answer, an empty text, answered before, or another open send in the thread.';
comment on column reporting.rule_outcomes.planned_count is 'Texts planned. The counts from sent_count to unclear_count add up to it.';
comment on column reporting.rule_outcomes.sent_count is 'Of the planned, sent. Includes texts found in the thread after their answer was lost.';
comment on column reporting.rule_outcomes.would_send_count is 'Of the planned, those that passed every gate and were not sent only because of dry-run.';
comment on column reporting.rule_outcomes.blocked_count is 'Of the planned, those stopped by a gate or a budget, or superseded by a newer text; in dry-run as in live mode.';
comment on column reporting.rule_outcomes.blocked_by_gate is 'The blocked ones by gate, as JSON; jsonb_each_text turns it into rows.';
comment on column reporting.rule_outcomes.skipped_count is 'Of the planned, skipped by the service (opted out, duplicate, invalid) and not charged.';
comment on column reporting.rule_outcomes.rejected_count is 'Of the planned, refused by the service and not charged.';
comment on column reporting.rule_outcomes.not_sent_count is 'Of the planned, given up after requests that provably sent nothing.';
comment on column reporting.rule_outcomes.waiting_count is 'Of the planned, not sent yet, including those held during quiet hours.';
comment on column reporting.rule_outcomes.unclear_count is 'Of the planned, those with an unknown outcome. Nothing is sent again automatically.';
comment on column reporting.rule_outcomes.segment_count is 'Segments of the sent texts: as billed, or the worst case if not reported.';
comment on column reporting.rule_outcomes.charged_usd is 'Dollars charged by the service for the sent texts whose price it reported; see unpriced_count.';
comment on column reporting.rule_outcomes.unpriced_count is 'Sent texts without a reported price, such as those found in the thread. Not included in charged_usd.';
comment on column reporting.rule_outcomes.set_aside_usd is 'Dollars that the budgets reserve for texts with an unknown price or outcome: the worst case.';
comment on column reporting.rule_outcomes.would_segment_count is 'Segments of the texts not sent because of dry-run, worst case.';
comment on column reporting.rule_outcomes.would_cost_usd is 'Maximum cost of these, at the highest price charged for a segment lately; NULL while none was charged.';
comment on column reporting.rule_outcomes.replied_count is 'Sent texts after which the recipient texted the same line within 24 hours, not counting words such as STOP. They might have texted anyway. A reply after two texts counts for both.';
comment on column reporting.rule_outcomes.reply_rate_pct is 'Replied, in percent of the sent. Can still rise for the last 24 hours.';
comment on column reporting.rule_outcomes.opted_out_count is 'Sent texts after which the recipient sent a word such as STOP within 24 hours.';
