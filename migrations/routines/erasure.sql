-- The hash of a normalised number, as ops.erasures keeps it.
create or replace function ops.erasure_hash(number text) returns text
language sql stable as $$
  select encode(sha256(convert_to(salt || number, 'UTF8')), 'hex') from secrets.erasure_salt
$$;

-- Which of these normalised numbers were erased, in any of their spellings.
create or replace function ops.erased_among(numbers text[]) returns setof text
language sql stable as $$
  select distinct n from unnest(numbers) n cross join lateral (select ops.erasure_hash(n) as hash) h
  where exists (select from ops.erasures where number_hash = h.hash)
    or exists (select from ops.erasures where spelling_hashes @> array[h.hash])
$$;

-- Whether somebody who was erased takes part in the thread of this key.
create or replace function ops.is_erased_thread(key text) returns boolean
language sql stable as $$
  select exists (select from ops.erasures) and exists (select from ops.erased_among(regexp_split_to_array(key, '[/,]')))
$$;

-- Whether anybody was ever erased. Until the transaction ends, no erasure removes rows. All transactions that write to the mirror share
-- these two table locks. An erasure commits its hash, and then takes an exclusive lock on ops.erasures once, to wait for writers that may
-- not know the hash. A process that credits calls to new users of extensions does the same with user_endpoints. Row locks would write to
-- one row in every transaction, and any role may take an advisory lock. The check is a separate statement, so it sees what was committed
-- while the lock was awaited.
create or replace function ops.hold_erasures() returns boolean
language plpgsql as $$
begin
  lock table ops.erasures, warehouse.user_endpoints in row share mode;
  return exists (select from ops.erasures);
end $$;

-- Identifies the set of erasures. The newest id alone wouldn't: when the database goes back in time, ids are used again.
create or replace function ops.erasures_state() returns text
language sql stable as $$
  select coalesce((select erasure_id || ' ' || number_hash from ops.erasures order by erasure_id desc limit 1), '')
$$;

-- True if this is the newest erasure, or NULL is given; else raises TL001.
-- A receiver may have loaded the erasures long ago, if it was suspended or cut off. The error makes it load them and retry.
create or replace function ops.knows_erasures(known_state text) returns boolean
language plpgsql stable as $$
begin
  if known_state <> ops.erasures_state() then
    raise exception 'somebody was erased since' using errcode = 'TL001';
  end if;
  return true;
end $$;

-- Removes a person from the ledger. Amounts spent stay, waiting sends are denied, and unknown outcomes can no longer be reconciled.
create or replace function ops.erase_sends(erased text) returns table (place text, removed bigint)
language plpgsql as $$
begin
  update ops.sends set state = 'DENIED', reason = 'gate:erased', reserved_micros = 0, settled_at = now()
    where number = erased and state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL');
  update ops.send_events e set why = null from ops.sends s where s.number = erased and e.send_id = s.send_id and e.why is not null;
  return query with gone as (
    update ops.sends set number = 'erased/' || send_id, body = '', baseline_message_ids = null,
      trigger_id = 'erased/' || send_id
    where number = erased returning planned_at, coalesce(dispatched_at, reserved_at) as charged_at
  ), marked as (insert into ops.send_markers (planned_at, charged_at) select * from gone)
    select 'ops.sends', count(*) from gone;
  return query with gone as (delete from ops.send_budgets where scope ~ ('^thread/[^/]*/' || erased || '$') returning 1)
    select 'ops.send_budgets', count(*) from gone;
  return query with gone as (delete from ops.opt_outs where number = erased returning 1)
    select 'ops.opt_outs', count(*) from gone;
end $$;

-- Whether a column or body names one of these numbers: a whole value of digits and what people type between them, as numbersIn in
-- src/shared/numbers.ts.
create or replace function ops.names_number(body text, numbers text[]) returns boolean
language sql immutable parallel safe as $$
  select exists (
    select from regexp_split_to_table(body, '[^0-9+() .-]+') value cross join lateral (select regexp_replace(value, '[^0-9]', '', 'g') as digits) d
    where case when length(digits) = 10 then '1' || digits else digits end = any(numbers))
$$;
