-- One row per number of the account known from calls, texts or users. The row unknown stands for calls that report none.
create view reporting.dim_number as
select
  n.number as number_key, -- The key: the normalised number itself; unknown if none is reported. Equals the line_key of texts.
  nullif(n.number, 'unknown') as account_number, -- The number; NULL where none is reported.
  coalesce(nullif(l.name, ''), n.number) as number_name, -- Caller-ID name of a number that can text, or else the number.
  owner.user_id as user_key, -- User whose number it is now; NULL = nobody's, or shared. See dim_user.
  l.line is not null and l.deleted_at is null as is_line, -- Whether the account can text from it now.
  e.last_date as last_call_date -- Local day of its newest external call; NULL = none.
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
