create view reporting.repeat_callers as
select
  c.external_number,
  c.caller_name,
  r.inbound_count,
  r.answered_count,
  r.inbound_count - r.answered_count as unanswered_count,
  r.active_day_count,
  r.first_call_at,
  r.last_call_at
from rollups.repeat_caller_rollup r
  join warehouse.calls c on c.call_id = r.last_call_id
where c.external_number is not null;

comment on view reporting.repeat_callers is 'One row is a number that called twice or more today and on the six local days before.';
comment on column reporting.repeat_callers.external_number is 'The caller.';
comment on column reporting.repeat_callers.caller_name is 'The name that was shown with the last of the calls.';
comment on column reporting.repeat_callers.inbound_count is 'Inbound calls.';
comment on column reporting.repeat_callers.answered_count is 'Of these, answered.';
comment on column reporting.repeat_callers.unanswered_count is 'Of these, not answered, mailbox included.';
comment on column reporting.repeat_callers.active_day_count is 'Different local days.';
comment on column reporting.repeat_callers.first_call_at is 'First of them.';
comment on column reporting.repeat_callers.last_call_at is 'Last of them.';
