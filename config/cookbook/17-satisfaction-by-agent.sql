-- How satisfied are customers with each agent's calls, and on how many scores does that stand?
-- Without agent_user_id the agent is only a name that the analysis heard.
select agent_user_id, agent_name, sum(csat_count) as scored, round(sum(csat_sum)::numeric / nullif(sum(csat_count), 0), 2) as csat_avg,
  round(sum(performance_sum)::numeric / nullif(sum(performance_count), 0), 2) as performance_avg
from reporting.quality_daily
where local_date > reporting.local_day(now()) - 30
group by 1, 2
having sum(csat_count) > 0
order by scored desc, 1, 2
limit 50;
