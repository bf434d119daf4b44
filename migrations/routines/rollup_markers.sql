-- The start of the quarter hour of an instant.
create or replace function ops.quarter_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select date_bin('15 minutes', moment, '2000-01-01 00:00:00+00')
$$;
