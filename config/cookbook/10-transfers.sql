-- Who passes calls on to whom?
-- Without a name, the call went to a queue, to a huntgroup or outside. Of a call passed on twice, every pair counts.
select f.user_name as from_name, t.user_name as to_name, count(*) as transfers
from reporting.fct_call_agent o
  join reporting.dim_user f on f.user_key = o.user_key
  left join reporting.fct_call_agent i on i.call_id = o.call_id and i.started_at = o.started_at and i.role = 'transferred_to' and i.user_key <> o.user_key
  left join reporting.dim_user t on t.user_key = i.user_key
where o.role = 'transferred_out' and o.started_at >= reporting.day_start(reporting.local_day(now()) - 29)
group by o.user_key, 1, i.user_key, 2
order by transfers desc, 1, 2, o.user_key, i.user_key
limit 50;
