create view reporting.repeat_callers as
select
  external_number,
  max(caller_name) as caller_name,
  count(*) as inbound_count,
  count(*) filter (where outcome = 'answered') as answered_count,
  count(*) filter (where outcome <> 'answered') as unanswered_count,
  count(distinct local_date) as active_day_count,
  min(started_at) as first_call_at,
  max(started_at) as last_call_at
from reporting.fct_call
where direction = 'inbound' and not is_internal and external_number is not null and started_at >= now() - interval '7 days'
group by external_number
having count(*) >= 2;

comment on view reporting.repeat_callers is 'Numbers that called twice or more in the last seven days.';
comment on column reporting.repeat_callers.external_number is 'The caller.';
comment on column reporting.repeat_callers.caller_name is 'A name that was shown with the number.';
comment on column reporting.repeat_callers.inbound_count is 'Inbound calls.';
comment on column reporting.repeat_callers.answered_count is 'Of these, answered.';
comment on column reporting.repeat_callers.unanswered_count is 'Of these, not answered, mailbox included.';
comment on column reporting.repeat_callers.active_day_count is 'Different local days.';
comment on column reporting.repeat_callers.first_call_at is 'First of them.';
comment on column reporting.repeat_callers.last_call_at is 'Last of them.';
