-- What does each rule do, in dry-run or live, and how many replies does it gain?
select rule, mode, sum(evaluation_count) as evaluations, sum(matched_count) as matched, sum(sent_count) as sent,
  sum(would_send_count) as would_send, sum(blocked_count) as kept_back, sum(action_done_count + action_would_count) as other_steps,
  sum(charged_usd) as charged_usd, sum(would_cost_usd) as would_cost_usd, sum(replied_count) as replies,
  round(100.0 * sum(replied_count) / nullif(sum(sent_count), 0), 1) as reply_pct, sum(opted_out_count) as opted_out
from reporting.rule_outcomes
where local_date > reporting.local_day(now()) - 30
group by 1, 2
order by matched desc, 1, 2;
