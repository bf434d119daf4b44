-- The outcome of a text: blocked, no_receipt, delivered, in_flight, failed, unknown or unmapped; NULL for an inbound text. The argument
-- mapped is the class of its word in reporting.delivery_status_map, and decides. A word without a class is failed if the carrier sent an
-- error with it, or if it means failure itself (undelivered, rejected, landline, invalid and so on). Any other is unmapped, which doesn't
-- count as failed.
create or replace function reporting.delivery_class(direction text, is_blocked boolean, delivery_status text, delivery_error text, mapped text) returns text
language sql immutable parallel safe as $$
  -- The service passes the carriers' words through and documents none. If the map lacks a word, the word itself is read: a failure that
  -- nobody mapped must not count as delivered. Only literals on a short piece of the word, so the time is linear.
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
