-- Service level
-- How many calls are answered in time, by each of the three formulas?
-- says: {round(100.0 * sum(in_time) / nullif(sum(answerable - unknown_wait), 0)) as in_time_pct} of inbound calls were answered
-- says: within {(select service_level_seconds from reporting.params) as wait_seconds}, {round(100.0 * sum(answered) / nullif(sum(answerable), 0)) as answered_pct} at all.
-- figure: In time: {round(100.0 * sum(in_time) / nullif(sum(answerable - unknown_wait), 0), 1) as in_time_pct}, more is good
-- draw: line x=local_date y=of_all_calls_pct:main,answered_pct:second
-- rows: calls-one-by-one
-- choose: number = select account_number, reporting.number_name(account_number) from reporting.call_hourly where account_number <> '' and local_date > reporting.local_day(now()) - 99 group by 1 order by 2
-- choose: hours = select * from (values ('true', 'while open'), ('false', 'while closed')) hours
-- By call. Callers who gave up at once do not count, nor do calls answered after an unknown wait; mailbox and missed calls count against it.
select local_date, sum(call_count) as inbound_calls, sum(answerable_count) as answerable, sum(answered_count) as answered,
  sum(answered_in_time_count) as in_time, sum(answer_wait_unknown_count) as unknown_wait,
  round(100.0 * sum(answered_count) / nullif(sum(answerable_count), 0), 1) as answered_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answerable_count) - sum(answer_wait_unknown_count), 0), 1) as of_all_calls_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answer_wait_count) + sum(abandoned_count), 0), 1) as of_answered_and_abandoned_pct,
  round(100.0 * sum(answered_in_time_count) / nullif(sum(answer_wait_count), 0), 1) as of_answered_pct
from reporting.call_hourly
where direction = 'inbound' and case coalesce(current_setting('report.number', true), '') when '' then true else account_number = current_setting('report.number', true) end
  and case coalesce(current_setting('report.hours', true), '') when '' then true else is_business_hours = current_setting('report.hours', true)::boolean end
  and local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1
order by 1;
