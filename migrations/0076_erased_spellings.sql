alter table ops.erasures add column spelling_hashes text[] not null default '{}';
comment on column ops.erasures.spelling_hashes is 'SHA-256 of the salt and each other spelling of the number: behind an exit code, with a 0 behind the country code, as dialled inside its country.';
create index erasures_spellings on ops.erasures using gin (spelling_hashes);

create or replace function ops.erased_among(numbers text[]) returns setof text language sql stable as $$
  select distinct n from unnest(numbers) n cross join lateral (select ops.erasure_hash(n) as hash) h
  where exists (select from ops.erasures where number_hash = h.hash)
    or exists (select from ops.erasures where spelling_hashes @> array[h.hash])
$$;
comment on function ops.erased_among is 'Which of these normalised numbers were erased, in any of their spellings.';
