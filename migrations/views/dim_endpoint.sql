create view reporting.dim_endpoint as
select
  e.endpoint,
  e.kind,
  e.user_id,
  u.user_name,
  case when e.valid_from = '-infinity' then timestamptz '1900-01-01 00:00:00+00' else e.valid_from end as valid_from,
  case when e.valid_to = 'infinity' then timestamptz '9999-12-31 00:00:00+00' else e.valid_to end as valid_to,
  e.valid_to = 'infinity' as is_current,
  exists (
    select from warehouse.user_endpoints other
    where other.endpoint = e.endpoint and other.kind = e.kind and other.user_id <> e.user_id
      and other.valid_from < e.valid_to and other.valid_to > e.valid_from
  ) as is_shared
from warehouse.user_endpoints e
  left join reporting.dim_user u on u.user_id = e.user_id;

comment on view reporting.dim_endpoint is 'One row is an extension, number or name at which a user can be reached, with the time in which it was the user''s: one that changed hands has a row for each user.';
comment on column reporting.dim_endpoint.endpoint is 'The extension, number or name.';
comment on column reporting.dim_endpoint.kind is 'extension, dial_extension, sip_line, number or voicemail.';
comment on column reporting.dim_endpoint.user_id is 'The user.';
comment on column reporting.dim_endpoint.user_name is 'The user''s name.';
comment on column reporting.dim_endpoint.valid_from is 'Since when; 1900-01-01 for what stood when users were first read. The service reports no history: changes are dated by when they were seen.';
comment on column reporting.dim_endpoint.valid_to is 'Until when; 9999-12-31 while it stands.';
comment on column reporting.dim_endpoint.is_current is 'Whether it stands now.';
comment on column reporting.dim_endpoint.is_shared is 'Whether another user had it at the same time. Calls to it are credited to nobody.';
