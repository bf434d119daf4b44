-- The name of one of the account's numbers: the caller-ID name of a number that can text, or else the number itself.
create or replace function reporting.number_name(account_number text) returns text
language sql strict stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce((select nullif(l.name, '') from warehouse.sms_lines l where l.line = account_number), account_number)
$$;
