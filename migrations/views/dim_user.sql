-- One row per user of the account, including former ones. Facts without a user have NULL. E-mail addresses and private numbers are not
-- shown.
create view reporting.dim_user as
select
  user_id as user_key, -- The key: the service's own id, which never changes.
  -- First and last name, else the portal name.
  coalesce(nullif(trim(concat_ws(' ', first_name, last_name)), ''), nullif(username, ''), 'user ' || user_id) as user_name,
  extension, -- Dial-by-name extension, as it is now.
  deleted_at is null as is_active -- Whether the service still lists the user.
from warehouse.users;
