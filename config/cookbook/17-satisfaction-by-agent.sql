-- How satisfied are customers with each agent's calls, and on how many scores does that stand?
-- Without user_key the agent is only a name that the analysis heard.
select user_key, coalesce(agent_name, heard_agent_name) as agent, count(csat_score) as scored, round(avg(csat_score), 2) as csat_avg,
  count(agent_performance_score) as performance_scored, round(avg(agent_performance_score), 2) as performance_avg
from reporting.fct_transcript
where call_started_at >= reporting.day_start(reporting.local_day(now()) - 29)
group by 1, 2
having count(csat_score) > 0
order by scored desc, 1, 2
limit 50;
