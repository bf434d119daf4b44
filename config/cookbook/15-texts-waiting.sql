-- Customers who wait for a reply
-- Which customers wait for a reply to their text?
-- says: {count(*)} [customer waits|customers wait] for a reply, the first since {to_char(min(waiting_since_at), 'Dy DD Mon, HH24:MI')}.
-- Conversations that end with an unanswered "thanks" wait too.
select t.turn_started_at as waiting_since_at, t.number, t.line, t.inbound_count as waiting_texts,
  round(reporting.business_seconds(t.turn_started_at, now(), t.line) / 3600.0, 1) as waited_in_business_hours,
  t.assigned_name, t.line || '/' || t.number as thread
from reporting.fct_sms_turn t
where t.is_waiting
  and t.turn_started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 6))
  and t.turn_started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
order by 1, 2, 3;
