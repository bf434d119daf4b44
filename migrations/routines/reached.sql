-- `NO ANSWER`, `Hunt-Group`: legs write their words in any spelling. As wordOf in src/warehouse/call-facts.ts.
create or replace function reporting.word_of(words text) returns text
language sql immutable parallel safe as $$
  select regexp_replace(lower(coalesce(words, '')), '[^a-z]+', '', 'g')
$$;
comment on function reporting.word_of is 'The letters a to z of a text, in lower case: to compare words of the service in any spelling.';

-- The types of section 2.9, and those of captured deliveries.
create or replace function reporting.place_of(party_type text) returns text
language sql immutable parallel safe as $$
  select case reporting.word_of(party_type)
    when 'ivr' then 'menu'
    when 'queue' then 'queue' when 'huntgroup' then 'queue'
    when 'user' then 'telephone' when 'phone' then 'telephone' when 'extension' then 'telephone' when 'external' then 'telephone'
    when 'mailbox' then 'mailbox' when 'voicemail' then 'mailbox'
  end
$$;
comment on function reporting.place_of is 'What a party of a call or leg is, by its type: menu, queue (or huntgroup), telephone, mailbox; NULL = not known.';
