-- A service may show the address of a subscription in a way of its own, or not at all: without a note of it each look would
-- take it for redirected.
alter table ops.subscription_watch add column receiver_hash text, add column shown_hash text;
comment on column ops.subscription_watch.receiver_hash is 'SHA-256 of the receiver that it was last left with; as ops.receivers.address_hash.';
comment on column ops.subscription_watch.shown_hash is 'SHA-256 of its address as the service shows it, where that is not the one that was asked for.';
