-- Calls by number
-- Which of our numbers are called most, and where do callers give up?
-- says: {(array_agg(account_number order by inbound desc))[1]} is called most: {max(inbound)} of {sum(inbound)} calls.
-- draw: bars x=account_number y=answered:main,abandoned:bad,otherwise_unanswered:plain
-- rows: calls-one-by-one
select account_number as number_key, account_number, sum(call_count) as inbound, sum(answered_count) as answered, sum(abandoned_count) as abandoned,
  sum(answerable_count - answered_count - abandoned_count) as otherwise_unanswered,
  round(100.0 * sum(abandoned_count) / nullif(sum(answerable_count), 0), 1) as abandoned_pct
from reporting.call_hourly
where direction = 'inbound'
  and local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1, 2
order by inbound desc, 1
limit 25;
