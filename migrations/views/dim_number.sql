create view reporting.dim_number as
select
  n.number as number_key,
  nullif(n.number, 'unknown') as account_number,
  coalesce(nullif(l.name, ''), n.number) as number_name,
  owner.user_id as user_key,
  l.line is not null and l.deleted_at is null as is_line,
  l.is_bulk_enabled,
  l.is_unrestricted,
  e.last_date as last_call_date
from (
  select endpoint from rollups.endpoints where kind = 'number'
  union
  select line from warehouse.sms_lines
  union
  select line from rollups.sms_day_rollup
  union
  select endpoint from warehouse.user_endpoints where kind = 'number'
  union
  select 'unknown'
) n (number)
  left join warehouse.sms_lines l on l.line = n.number
  left join rollups.endpoints e on e.kind = 'number' and e.endpoint = n.number
  left join (
    select endpoint, min(user_id) as user_id from warehouse.user_endpoints
    where kind = 'number' and valid_to = 'infinity' group by endpoint having count(distinct user_id) = 1
  ) owner on owner.endpoint = n.number;

comment on view reporting.dim_number is 'One row per number of the account known from calls, texts or users. The row unknown stands for calls that report none.';
comment on column reporting.dim_number.number_key is 'The key: the normalised number itself; unknown if none is reported. Equals the line_key of texts.';
comment on column reporting.dim_number.account_number is 'The number; NULL where none is reported.';
comment on column reporting.dim_number.number_name is 'Caller-ID name of a number that can text, or else the number.';
comment on column reporting.dim_number.user_key is 'User whose number it is now; NULL = nobody''s, or shared. See dim_user.';
comment on column reporting.dim_number.is_line is 'Whether the account can text from it now.';
comment on column reporting.dim_number.is_bulk_enabled is 'Of a line: registered for 10DLC bulk traffic; restricts nothing. NULL = not reported, or no line.';
comment on column reporting.dim_number.is_unrestricted is 'Of a line: true when no users are assigned, so that everybody may use it. NULL = no line.';
comment on column reporting.dim_number.last_call_date is 'Local day of its newest external call; NULL = none.';
