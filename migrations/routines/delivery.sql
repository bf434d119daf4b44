-- What became of a text: NULL for one that came in; blocked, no_receipt, delivered, in_flight, failed, unknown or unmapped. mapped is the
-- class of its word in reporting.delivery_status_map, which decides. A word that isn't mapped is failed when the carrier gave an error
-- with it, or when it says so itself (undelivered, failed, rejected, landline, invalid and so on); else unmapped, which doesn't count as
-- failed.
create or replace function reporting.delivery_class(direction text, is_blocked boolean, delivery_status text, delivery_error text, mapped text) returns text
language sql immutable parallel safe as $$
  -- The service passes the carriers' words through and documents none. The map decides; where it lacks a word, the word itself is
  -- read: a failure that nobody mapped must not count as a text that somebody got. Literals alone, on a short piece: linear in time.
  select case
    when direction is distinct from 'out' then null
    when is_blocked then 'blocked'
    when coalesce(trim(delivery_status), '') = '' then case when coalesce(trim(delivery_error), '') = '' then 'no_receipt' else 'failed' end
    when mapped is not null then mapped
    when coalesce(trim(delivery_error), '') <> ''
      or lower(left(delivery_status, 200)) ~ 'undeliv|not.deliv|non.?deliv|fail|reject|refus|error|invalid|landline|unreach|unknown.(subscriber|number)|block|bounce|expire|cancel|spam|filtered|violat|barred|disconnected|unsupported|opted.?out|unsubscribed|no.route'
      then 'failed'
    else 'unmapped'
  end
$$;
