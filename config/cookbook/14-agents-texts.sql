-- Agents and texts
-- How many texts of customers does each agent answer, and how fast?
-- says: {count(*)} [agent|agents] answered {sum(answered)} texts, {(array_agg(user_name order by answered desc))[1]} most: {max(answered)}.
-- draw: bars x=user_name y=answered:main
-- Answered: a customer texted, and this user was the first to reply, perhaps after an automatic reply. Business time leaves out closing hours;
-- its median is of those in business time: with business hours between text and reply.
select t.user_key, u.user_name, count(*) as answered, count(distinct t.conversation_id) as conversations,
  round(percentile_cont(0.5) within group (order by t.user_reply_seconds)::numeric / 60, 1) as half_within_minutes,
  round(percentile_cont(0.9) within group (order by t.user_reply_seconds)::numeric / 60, 1) as nine_of_ten_within_minutes,
  count(t.user_reply_business_seconds) as in_business_time,
  round(percentile_cont(0.5) within group (order by t.user_reply_business_seconds)::numeric / 60, 1) as half_within_business_minutes
from reporting.fct_sms_turn t
  join reporting.dim_user u on u.user_key = t.user_key
where t.turn_started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29))
  and t.turn_started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
group by 1, 2
order by answered desc, 1;
