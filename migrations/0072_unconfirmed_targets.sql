-- A delivery can name things that do not exist: nothing that only deliveries named is read before what is known.
comment on column ops.sync_targets.priority is '0: something happened. 1: history that is filled in, read behind that. 2 and 3: unconfirmed, and read behind all others, a few at a time. 3: in a delivery with many references, or a read did not find it.';
comment on column ops.deliveries.is_recognized is 'False when nothing in the body could be understood, or it holds more than the 500 references that are taken of one delivery; such a delivery is kept to be parsed again.';

alter table ops.sync_targets add column is_unconfirmed boolean not null default false;
comment on column ops.sync_targets.is_unconfirmed is 'Only deliveries named it, and no read has found it: it may not exist.';

create index sync_targets_unconfirmed on ops.sync_targets (kind) where priority >= 2;
