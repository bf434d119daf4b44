-- The one user who had an extension at a moment; NULL when nobody is known or several shared it.
create or replace function ops.user_at(extension text, moment timestamptz) returns bigint
language sql stable as $$
  select min(user_id) from warehouse.user_endpoints
  where endpoint = extension and kind in ('extension', 'dial_extension', 'sip_line') and valid_from <= moment and moment < valid_to
  having count(distinct user_id) = 1
$$;
