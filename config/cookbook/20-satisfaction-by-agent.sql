-- Satisfaction by agent
-- How satisfied are customers with each agent's calls, and on how many scores does that stand?
-- says: {round(sum(scored * csat_average) / nullif(sum(scored), 0), 1)} on average, of {sum(scored)} scored [call|calls] of {count(*)} [agent|agents].
-- draw: bars x=agent y=csat_average:main
-- Agents without a user are names that the analysis heard.
select user_key, coalesce(agent_name, heard_agent_name) as agent, count(csat_score) as scored, round(avg(csat_score), 2) as csat_average,
  count(agent_performance_score) as performance_scored, round(avg(agent_performance_score), 2) as performance_average
from reporting.fct_transcript
where call_started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29))
  and call_started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
group by 1, 2
having count(csat_score) > 0
order by scored desc, 1, 2
limit 50;
