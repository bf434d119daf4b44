-- Calls
-- How many calls come in each day, and how many does somebody answer?
-- says: {sum(inbound)} [call|calls] came in and {sum(outbound)} went out; {round(100.0 * sum(answered) / nullif(sum(answered + not_answered), 0)) as answered_pct} of those in were answered.
-- figure: Came in: {sum(inbound)}
-- draw: bars x=local_date y=answered:main,not_answered:bad
-- rows: calls-one-by-one
-- choose: number = select account_number, reporting.number_name(account_number) from reporting.call_hourly where account_number <> '' and local_date > reporting.local_day(now()) - 99 group by 1 order by 2
-- choose: hours = select * from (values ('true', 'while open'), ('false', 'while closed')) hours
-- Calls among the account's own extensions are left out. Callers who gave up at once are in inbound, and in no other column.
select day::date as local_date, coalesce(sum(call_count) filter (where direction = 'inbound'), 0) as inbound,
  coalesce(sum(answered_count) filter (where direction = 'inbound'), 0) as answered,
  coalesce(sum(answerable_count - answered_count) filter (where direction = 'inbound'), 0) as not_answered,
  round(100.0 * sum(answered_count) filter (where direction = 'inbound') / nullif(sum(answerable_count) filter (where direction = 'inbound'), 0), 1) as answered_pct,
  coalesce(sum(call_count) filter (where direction = 'outbound'), 0) as outbound
from generate_series(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)::timestamp,
    coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())), '1 day') day
  left join reporting.call_hourly c on c.local_date = day::date and case coalesce(current_setting('report.number', true), '') when '' then true else account_number = current_setting('report.number', true) end
    and case coalesce(current_setting('report.hours', true), '') when '' then true else is_business_hours = current_setting('report.hours', true)::boolean end
group by 1
order by 1;
