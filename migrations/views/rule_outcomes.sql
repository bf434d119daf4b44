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

comment on view reporting.rule_outcomes is 'One row is what a rule did on a local day, per version of the rules file and mode. What a text came to counts on the day on which it was planned. Evaluations stay counted after the runs themselves are no longer kept; a change of time zone moves the texts to other days, and not the evaluations.';
comment on column reporting.rule_outcomes.local_date is 'Local day on which the rule was tried, or its text was planned.';
comment on column reporting.rule_outcomes.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.rule_outcomes.rule is 'Name of the rule.';
comment on column reporting.rule_outcomes.version is 'Fingerprint of the rules file then: another one whenever any rule changes. Empty where it was not noted.';
comment on column reporting.rule_outcomes.mode is 'dry-run: noted and not done; live.';
comment on column reporting.rule_outcomes.evaluation_count is 'How often it was tried, once for each thing that happened. The counts down to error_count add up to it.';
comment on column reporting.rule_outcomes.matched_count is 'How often it was to act.';
comment on column reporting.rule_outcomes.match_rate_pct is 'Matched, of the evaluations, in percent.';
comment on column reporting.rule_outcomes.condition_false_count is 'Not to act: its condition did not hold.';
comment on column reporting.rule_outcomes.too_old_count is 'Not to act: what it waits for had happened too long ago.';
comment on column reporting.rule_outcomes.limited_count is 'Not to act: its own limit was reached.';
comment on column reporting.rule_outcomes.stopped_count is 'Not to act: an earlier rule had said stop.';
comment on column reporting.rule_outcomes.unfit_count is 'Not to act: a group thread, no other party, or what it was about is gone.';
comment on column reporting.rule_outcomes.error_count is 'Not to act: its condition or template failed. The reason stands in the run.';
comment on column reporting.rule_outcomes.action_done_count is 'Steps other than replies (resolve, reopen, assign, comment, block) that were done.';
comment on column reporting.rule_outcomes.action_would_count is 'Steps other than replies that dry-run noted and did not do.';
comment on column reporting.rule_outcomes.action_skipped_count is 'Steps other than replies that there was a reason not to do.';
comment on column reporting.rule_outcomes.action_failed_count is 'Steps other than replies that the service refused.';
comment on column reporting.rule_outcomes.action_unclear_count is 'Steps other than replies whose answer was lost; they are not done twice.';
comment on column reporting.rule_outcomes.reply_unplanned_count is 'Replies that were not even planned: nobody or nothing to answer, an empty text, answered before, or another send of the thread under way.';
comment on column reporting.rule_outcomes.planned_count is 'Texts planned. The counts down to unclear_count add up to it.';
comment on column reporting.rule_outcomes.sent_count is 'Of the planned, sent, those found in the thread after their answer was lost included.';
comment on column reporting.rule_outcomes.would_send_count is 'Of the planned, those that every gate let pass and dry-run alone kept back.';
comment on column reporting.rule_outcomes.blocked_count is 'Of the planned, those that a gate or a budget kept back, or that a newer one took the place of; dry-run tells them as live does.';
comment on column reporting.rule_outcomes.blocked_by_gate is 'The blocked ones by gate, as JSON: jsonb_each_text makes rows of it.';
comment on column reporting.rule_outcomes.skipped_count is 'Of the planned, skipped by the service (opted out, duplicate, invalid) and not charged.';
comment on column reporting.rule_outcomes.rejected_count is 'Of the planned, refused by the service and not charged.';
comment on column reporting.rule_outcomes.not_sent_count is 'Of the planned, given up after requests that provably sent nothing.';
comment on column reporting.rule_outcomes.waiting_count is 'Of the planned, not out yet; those held for quiet hours among them.';
comment on column reporting.rule_outcomes.unclear_count is 'Of the planned, those of which it is not known yet whether they were sent. Nothing is sent again by itself.';
comment on column reporting.rule_outcomes.segment_count is 'Segments of the sent texts: as billed, the worst case where that was not reported.';
comment on column reporting.rule_outcomes.charged_usd is 'Dollars that the service charged for the sent texts whose price it reported; see unpriced_count.';
comment on column reporting.rule_outcomes.unpriced_count is 'Sent texts whose price was not reported, those found in the thread among them. They are not in charged_usd.';
comment on column reporting.rule_outcomes.set_aside_usd is 'Dollars that the budgets keep for texts whose price or outcome is not known: the worst case.';
comment on column reporting.rule_outcomes.would_segment_count is 'Segments of the texts that dry-run kept back, worst case.';
comment on column reporting.rule_outcomes.would_cost_usd is 'What these would have cost at most, at the highest price of a segment that the service ever charged; NULL while it never charged one.';
comment on column reporting.rule_outcomes.replied_count is 'Replies gained: sent texts that a text of the recipient on the same line followed within 24 hours, words such as STOP left out. Whether it would have come anyway is not known; one that follows two texts counts for both.';
comment on column reporting.rule_outcomes.reply_rate_pct is 'Replied, of the sent, in percent. Of the last 24 hours it can still rise.';
comment on column reporting.rule_outcomes.opted_out_count is 'Sent texts that a word such as STOP of the recipient followed within 24 hours.';
