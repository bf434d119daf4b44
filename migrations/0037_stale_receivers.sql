-- A receiver knows who was erased from its last look, which can be long ago: it may have been suspended, or cut off. What
-- it would store without knowing of everybody is refused, and it looks again.
create function ops.knows_erasures(newest_known bigint) returns boolean language plpgsql stable as $$
begin
  if exists (select from ops.erasures where erasure_id > newest_known) then
    raise exception 'somebody was erased since' using errcode = 'TL001';
  end if;
  return true;
end $$;
comment on function ops.knows_erasures is 'True when nobody was erased after this one, or NULL is given; else an error.';
