-- The number by which warehouse.contacts knows a number: the first of its sameNumbers, see src/warehouse/phone-numbers.ts.
create or replace function warehouse.contact_number(number text) returns text
language sql immutable parallel safe as $$
  select regexp_replace(regexp_replace(regexp_replace(number,
    '^521(\d{10})$', '52\1'),
    '^54((?:11|[23]\d)\d{8})$', '549\1'),
    '^(55\d\d)([016-9]\d{7})$', '\19\2')
$$;
