create schema warehouse;
create schema secrets;
create schema if not exists ops;
create schema reporting;

comment on schema warehouse is 'The mirror of the telephony account. Every row was read through the API; NULL means that the service did not report the value.';
comment on schema secrets is 'Bearer URLs. Whoever holds one can play or see what it points at, so nobody but the daemon reads this schema.';
comment on schema ops is 'How the mirror is kept: deliveries received, targets to read, parked streams, drift of the API.';
comment on schema reporting is 'What BI reads.';

create sequence ops.fetch_seq as bigint;
comment on sequence ops.fetch_seq is 'Taken before every read of the API. A row is replaced only by a read that began later than the one that wrote it.';
