-- What did the texts of rules cost by week and line, and of how many is the price not known?
select date_trunc('week', local_date)::date as week_start_date, line, sum(rule_sent_count) as texts, sum(rule_segment_count) as segments,
  sum(charged_usd) as charged_usd, sum(unpriced_count) as without_price,
  sum(unpriced_set_aside_usd + open_set_aside_usd) as not_known_at_most_usd
from reporting.sms_daily
where local_date > reporting.local_day(now()) - 56
group by 1, 2
having sum(rule_sent_count + open_count) > 0
order by 1, 2;
