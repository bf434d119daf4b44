-- Texts
-- How many texts does each line get and send, and who sends them?
-- says: {sum(received)} [text|texts] came in and {sum(sent)} went out: {sum(by_people)} by people, {sum(by_rules)} by rules and {sum(by_unknown_senders)} by senders that are not known.
-- draw: bars x=local_date y=received:main,by_people:good,by_rules:second,by_unknown_senders:plain
-- choose: line = select line, reporting.number_name(line) from reporting.sms_daily group by 1 order by 2
select local_date, sum(inbound_count) as received, sum(outbound_count) as sent, sum(outbound_user_count) as by_people,
  sum(outbound_automatic_count) as by_rules, sum(outbound_unknown_count) as by_unknown_senders
from reporting.sms_daily
where case coalesce(current_setting('report.line', true), '') when '' then true else line = current_setting('report.line', true) end
  and local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1
order by 1;
