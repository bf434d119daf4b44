-- Cost of rules
-- What did the texts of rules cost, and of how many is the price not known?
-- says: {sum(charged_usd) as charged_usd} for {sum(texts)} [text|texts] that rules sent; in dry-run, they would have sent {sum(would_send)} more.
-- figure: Charged: {sum(charged_usd) as charged_usd}
-- draw: bars x=local_date y=texts:main,would_send:second,kept_back:plain
-- The service does not report what texts from its portal cost. Not known at most: set aside for texts whose price or outcome is not known.
select day::date as local_date, coalesce(s.texts, 0) as texts, coalesce(s.segments, 0) as segments, coalesce(s.charged_usd, 0) as charged_usd,
  coalesce(s.without_price, 0) as without_price, coalesce(s.not_known, 0) as not_known_at_most_usd,
  coalesce(r.would_send, 0) as would_send, coalesce(r.kept_back, 0) as kept_back
from generate_series(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)::timestamp,
    coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())), '1 day') day
  left join (
    select local_date, sum(rule_sent_count) as texts, sum(rule_segment_count) as segments, sum(charged_usd) as charged_usd,
      sum(unpriced_count) as without_price, sum(unpriced_set_aside_usd + open_set_aside_usd) as not_known
    from reporting.sms_daily group by 1
  ) s on s.local_date = day::date
  left join (
    select local_date, sum(would_send_count) as would_send, sum(blocked_count) as kept_back from reporting.rule_outcomes group by 1
  ) r on r.local_date = day::date
order by 1;
