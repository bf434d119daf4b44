-- What has happened with one customer, on every channel? (Here: whoever called last. Put your number in its place.)
select happened_at, channel, direction, outcome, talk_seconds, account_number, reference
from reporting.customer_timeline
where number = (
  select external_number from reporting.fct_call where external_number is not null order by started_at desc, call_id limit 1
)
order by happened_at desc, channel, reference
limit 200;
