-- One row per number of another party of calls or texts. Erased people are not included.
create view reporting.dim_contact as
select
  k.number, -- The key: the normalised number.
  -- Name in the imported list of customers, or else the name shown with the newest inbound call that had one; NULL = none. Placeholders of
  -- carriers and names of places do not count: see person_name.
  coalesce(i.name, (
    select reporting.person_name(c.caller_name) from warehouse.calls c
    where c.external_number = k.number and c.direction = 'inbound' and c.deleted_at is null and reporting.person_name(c.caller_name) is not null
    order by c.started_at desc limit 1
  )) as contact_name,
  -- Area code of a number of the North American plan; NULL for others.
  case when k.number ~ '^1[2-9][0-9]{9}$' then substr(k.number, 2, 3) end as area_code,
  i.company, -- The customer's company by the imported list.
  i.owner, -- Who looks after the customer, by the imported list.
  i.language, -- The customer's language by the imported list: an ISO 639 code in lower case.
  i.tags -- The customer's tags by the imported list, in lower case; NULL = not in the list.
from rollups.contacts k left join warehouse.contacts i on i.number = warehouse.contact_number(k.number);
