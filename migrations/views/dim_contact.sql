-- One row per number of another party of calls or texts. The row unknown stands for withheld numbers and internal calls. Erased people are
-- not included.
create view reporting.dim_contact as
select
  -- The key: the normalised number itself, so facts need no lookup; unknown if none is shown, and for short numbers such as 611.
  k.number as contact_key,
  k.number, -- The number; NULL where none is shown.
  -- Name by the imported list of customers, else as it was shown with its newest inbound call that had one; NULL = none. Placeholders of
  -- carriers and places are none: see person_name.
  coalesce(i.name, (
    select reporting.person_name(c.caller_name) from warehouse.calls c
    where c.external_number = k.number and c.direction = 'inbound' and c.deleted_at is null and reporting.person_name(c.caller_name) is not null
    order by c.started_at desc limit 1
  )) as contact_name,
  -- Area code of a number of the North American plan; NULL for others.
  case when k.number ~ '^1[2-9][0-9]{9}$' then substr(k.number, 2, 3) end as area_code,
  -- Calling code of its country, from the first digits: 1 is the North American plan (area_code tells its countries apart), 44 the United
  -- Kingdom. NULL for other formats. The caller may be somewhere else.
  case
    when k.number ~ '^1[2-9][0-9]{9}$' then '1'
    when k.number ~ '^1' or length(k.number) not between 8 and 15 then null
    when k.number ~ '^7' then '7'
    when k.number ~ '^(2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])' then left(k.number, 2)
    when k.number ~ '^[2-9]' then left(k.number, 3)
  end as calling_code,
  i.company, -- The customer's company by the imported list.
  i.owner, -- Who looks after the customer, by the imported list.
  i.language, -- The customer's language by the imported list: an ISO 639 code in lower case.
  i.tags -- The customer's tags by the imported list, in lower case; NULL = not in the list.
from rollups.contacts k left join warehouse.contacts i on i.number = warehouse.contact_number(k.number)
union all
select 'unknown', null, 'unknown', null, null, null, null, null, null;
