-- How many texts does each line get and send, and who sends them?
select line, sum(inbound_count) as received, sum(outbound_count) as sent, sum(outbound_user_count) as by_people,
  sum(outbound_automatic_count) as by_rules, sum(outbound_unknown_count) as by_unknown_senders
from reporting.sms_daily
where local_date > reporting.local_day(now()) - 30
group by 1
order by received desc, 1;
