-- The types of section 2.9, and those of captured deliveries, in any spelling: `NO ANSWER`, `Hunt-Group`.
create or replace function reporting.place_of(party_type text) returns text
language sql immutable parallel safe as $$
  select case regexp_replace(lower(left(party_type, 50)), '[^a-z]+', '', 'g')
    when 'ivr' then 'menu'
    when 'queue' then 'queue' when 'huntgroup' then 'queue'
    when 'user' then 'telephone' when 'phone' then 'telephone' when 'extension' then 'telephone' when 'external' then 'telephone'
    when 'mailbox' then 'mailbox'
  end
$$;
comment on function reporting.place_of is 'What a party of a call or leg is, by its type: menu, queue (or huntgroup), telephone, mailbox; NULL = not known.';
