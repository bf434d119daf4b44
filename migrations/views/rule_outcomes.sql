-- One row per local day, rule, version of the rules file and mode: what the rule did. The outcome of a text counts on the day it was
-- planned. Evaluations stay counted after their runs have been deleted. A change of the time zone moves texts to other days, but not
-- evaluations.
create view reporting.rule_outcomes as
select
  r.local_date, -- Local day on which the rule was evaluated, or its text was planned.
  r.rule, -- Name of the rule.
  r.version, -- Version of the rules. Empty if it was not recorded.
  r.mode, -- dry-run: only recorded; live.
  r.evaluation_count, -- Number of evaluations, one per trigger.
  r.matched_count, -- Evaluations after which the rule acts.
  r.condition_false_count, -- No action: the condition was false.
  r.limited_count, -- No action: the rule's own limit was reached.
  -- No action: the condition or template failed. What is left of evaluation_count had a trigger that was too old or unfit (a reaction, a
  -- group thread, no other party, no need of a call-back, gone), or an earlier rule with a stop.
  r.error_count,
  r.action_done_count, -- Steps other than replies (resolve, assign, notify and the like) that were done.
  r.action_would_count, -- Steps other than replies that were only recorded because of dry-run.
  r.action_failed_count, -- Steps other than replies that the service refused.
  r.planned_count, -- Texts planned. The counts from sent_count to unclear_count add up to it.
  r.sent_count, -- Of the planned, sent. Includes texts found in the thread after their answer was lost.
  r.would_send_count, -- Of the planned, those that passed every gate and were not sent only because of dry-run.
  r.blocked_count, -- Of the planned, those stopped by a gate or a budget, or superseded by a newer text; in dry-run as in live mode.
  r.blocked_by_gate, -- The blocked ones by gate, as JSON; jsonb_each_text turns it into rows.
  r.skipped_count, -- Of the planned, skipped by the service (opted out, duplicate, invalid) and not charged.
  r.rejected_count, -- Of the planned, refused by the service and not charged.
  r.not_sent_count, -- Of the planned, given up after requests that provably sent nothing.
  r.waiting_count, -- Of the planned, not sent yet, including those held during quiet hours.
  r.unclear_count, -- Of the planned, those with an unknown outcome. Nothing is sent again automatically.
  -- Dollars charged by the service for the sent texts whose price it reported; sms_daily counts the others.
  (r.charged_micros / 1000000.0)::numeric(12, 6) as charged_usd,
  -- Maximum cost of the texts that dry-run kept back, at the highest price charged for a segment lately; NULL while none was charged.
  (case when c.highest_unit_micros > 0 then r.would_segment_count * c.highest_unit_micros / 1000000.0 end)::numeric(12, 6) as would_cost_usd,
  -- Sent texts after which the recipient texted the same line within 24 hours, not counting words such as STOP. They might have texted
  -- anyway. A reply after two texts counts for both.
  r.replied_count,
  r.opted_out_count -- Sent texts after which the recipient sent a word such as STOP within 24 hours.
from rollups.rule_outcome_rollup r
  cross join ops.send_control c;
