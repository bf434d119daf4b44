-- Who passes calls on to whom?
select from_name, from_endpoint, to_type, to_name, to_endpoint, count(*) as transfers
from reporting.transfers
where started_at >= reporting.day_start(reporting.local_day(now()) - 29) and leg_ordinal is not null
group by 1, 2, 3, 4, 5
order by transfers desc, 1, 2, 3, 4, 5
limit 50;
