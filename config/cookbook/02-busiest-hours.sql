-- When in the week do people call, and when is nobody there to answer?
select isodow, local_hour, sum(call_count) as calls,
  round(100.0 * sum(answered_count) / nullif(sum(call_count) - sum(short_abandoned_count), 0), 1) as answered_pct
from reporting.call_heatmap
where direction = 'inbound' and local_date > reporting.local_day(now()) - 28
group by 1, 2
order by calls desc
limit 20;
