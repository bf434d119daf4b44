create view reporting.dim_line as
select
  n.line as line_key,
  n.line,
  coalesce(nullif(l.name, ''), n.line) as line_name,
  l.is_bulk_enabled,
  l.is_unrestricted,
  l.line is not null and l.deleted_at is null as is_active
from (
  select line from warehouse.sms_lines
  union
  select line from rollups.sms_day_rollup
) n
  left join warehouse.sms_lines l on l.line = n.line;

comment on view reporting.dim_line is 'One row is a number of the account that texts, or that texted once.';
comment on column reporting.dim_line.line_key is 'The key: the number itself, digits.';
comment on column reporting.dim_line.line is 'The same.';
comment on column reporting.dim_line.line_name is 'Caller-ID name, else the number.';
comment on column reporting.dim_line.is_bulk_enabled is 'Registered for 10DLC bulk traffic; restricts nothing. NULL = not reported.';
comment on column reporting.dim_line.is_unrestricted is 'True when no users are assigned: everybody may use it.';
comment on column reporting.dim_line.is_active is 'Whether the service still lists it.';
