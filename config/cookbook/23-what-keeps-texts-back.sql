-- Which gates keep texts of rules back, by rule?
select r.rule, g.gate, sum(g.texts::integer) as kept_back
from reporting.rule_outcomes r
  cross join jsonb_each_text(r.blocked_by_gate) g (gate, texts)
where r.local_date > reporting.local_day(now()) - 30
group by 1, 2
order by 3 desc, 1, 2;
