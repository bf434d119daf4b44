-- Who passes calls on to whom?
select from_name, from_endpoint, to_type, coalesce(to_name, to_endpoint) as passed_to, count(*) as transfers
from reporting.transfers
where started_at >= now() - interval '30 days' and leg_ordinal is not null
group by 1, 2, 3, 4
order by transfers desc
limit 50;
