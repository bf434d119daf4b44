create view reporting.dim_user as
select
  user_id as user_key,
  user_id,
  coalesce(nullif(trim(concat_ws(' ', first_name, last_name)), ''), nullif(username, ''), 'user ' || user_id) as user_name,
  title,
  company,
  time_zone,
  extension,
  deleted_at is null as is_active
from warehouse.users;

comment on view reporting.dim_user is 'One row per user of the account, including former ones. Facts without a user have NULL. E-mail addresses and private numbers are not shown.';
comment on column reporting.dim_user.user_key is 'The key: the service''s own id, which never changes.';
comment on column reporting.dim_user.user_id is 'The same.';
comment on column reporting.dim_user.user_name is 'First and last name, else the portal name.';
comment on column reporting.dim_user.title is 'Job title, free text.';
comment on column reporting.dim_user.company is 'The user''s company, else the account''s name.';
comment on column reporting.dim_user.time_zone is 'IANA time zone of the user.';
comment on column reporting.dim_user.extension is 'Dial-by-name extension, as it is now.';
comment on column reporting.dim_user.is_active is 'Whether the service still lists the user.';
