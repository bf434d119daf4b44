-- Which gates keep texts of rules back, by rule?
select rule, gate, sum(blocked_count) as kept_back
from reporting.rule_blocks
where local_date > reporting.local_day(now()) - 30
group by 1, 2
order by 3 desc, 1, 2;
