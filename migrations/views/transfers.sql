create view reporting.transfers as
select
  c.call_id,
  c.started_at,
  c.local_date,
  reporting.date_key(c.local_date) as date_key,
  c.direction,
  c.transferred_count,
  c.external_number,
  c.account_number,
  l.ordinal as leg_ordinal,
  l.bridged_from_call_id,
  l.caller_type as from_type,
  l.caller_name as from_name,
  l.caller_number as from_endpoint,
  l.called_type as to_type,
  l.called_name as to_name,
  l.called_number as to_endpoint,
  l.talk_seconds
from reporting.fct_call c
  left join warehouse.call_legs l on l.call_id = c.call_id and l.deleted_at is null
    and l.ordinal > 1 and l.caller_type = 'user' and l.bridged_from_call_id is not null
where c.transferred_count > 0;

comment on view reporting.transfers is 'One row is a leg that a user passed on of a transferred call; a call whose legs are not held or do not show it has one row without a leg. Filter on started_at.';
comment on column reporting.transfers.call_id is 'The call.';
comment on column reporting.transfers.started_at is 'Its start.';
comment on column reporting.transfers.local_date is 'Its local day.';
comment on column reporting.transfers.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.transfers.direction is 'inbound or outbound.';
comment on column reporting.transfers.transferred_count is 'How often, by the service.';
comment on column reporting.transfers.external_number is 'The other party.';
comment on column reporting.transfers.account_number is 'The account''s own number.';
comment on column reporting.transfers.leg_ordinal is 'Position of the leg in the call. The service does not document the fields of legs: each is NULL unless reported.';
comment on column reporting.transfers.bridged_from_call_id is 'The leg that it was bridged from.';
comment on column reporting.transfers.from_type is 'Who passed it on: user.';
comment on column reporting.transfers.from_name is 'That user''s name.';
comment on column reporting.transfers.from_endpoint is 'That user''s extension.';
comment on column reporting.transfers.to_type is 'user, queue, huntgroup or external.';
comment on column reporting.transfers.to_name is 'Name of who got it.';
comment on column reporting.transfers.to_endpoint is 'Extension or number of who got it.';
comment on column reporting.transfers.talk_seconds is 'Connected time of the leg.';
