-- What has happened with one customer, on every channel? (Here: whoever called last. Put your number in its place.)
-- Of group threads, the first participant's number alone.
with customer as (
  select external_number as number from reporting.fct_call where external_number is not null order by started_at desc, call_id limit 1
)
select c.started_at as happened_at, 'call' as channel, c.direction, c.outcome, c.talk_seconds, c.account_number, c.call_id as reference
from customer join reporting.fct_call c on c.external_number = customer.number
union all
select m.sent_at, 'text', m.direction, m.delivery_class, null, m.line, m.conversation_id || '/' || m.message_id
from customer join reporting.fct_sms_message m on m.number = customer.number
order by happened_at desc, channel, reference
limit 200;
