-- What rules do
-- What does each rule do, in dry-run or live, what keeps its texts back, and how many replies does it gain?
-- says: {count(distinct rule)} [rule|rules] matched {sum(matched)} times and sent {sum(sent)} texts; {sum(replies)} got a reply within a day.
-- draw: bars x=rule y=sent:good,would_send:second,kept_back:plain
select rule, mode, sum(evaluation_count) as evaluations, sum(matched_count) as matched, sum(sent_count) as sent,
  sum(would_send_count) as would_send, sum(blocked_count) as kept_back,
  (select string_agg(gate || ' ' || texts, ', ' order by texts desc, gate) from (
     select gate, sum(texts::integer) as texts from jsonb_array_elements(jsonb_agg(blocked_by_gate)) day cross join jsonb_each_text(day) g (gate, texts) group by 1
   ) gates) as kept_back_by, sum(action_done_count + action_would_count) as other_steps,
  sum(charged_usd) as charged_usd, sum(would_cost_usd) as would_cost_usd, sum(replied_count) as replies,
  round(100.0 * sum(replied_count) / nullif(sum(sent_count), 0), 1) as reply_pct, sum(opted_out_count) as opted_out
from reporting.rule_outcomes
where local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1, 2
order by matched desc, 1, 2;
