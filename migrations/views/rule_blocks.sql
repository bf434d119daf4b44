create view reporting.rule_blocks as
select r.local_date, reporting.date_key(r.local_date) as date_key, r.rule, r.version, r.mode, b.gate, b.blocked::integer as blocked_count
from rollups.rule_outcome_rollup r
  cross join lateral jsonb_each_text(r.blocked_by_gate) b (gate, blocked);

comment on view reporting.rule_blocks is 'One row is a local day, rule, version, mode and gate that kept texts back, by the day on which they were planned. Its sum is blocked_count of rule_outcomes.';
comment on column reporting.rule_blocks.local_date is 'Local day on which the texts were planned.';
comment on column reporting.rule_blocks.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.rule_blocks.rule is 'Name of the rule.';
comment on column reporting.rule_blocks.version is 'Fingerprint of the rules file then.';
comment on column reporting.rule_blocks.mode is 'dry-run or live.';
comment on column reporting.rule_blocks.gate is 'opted_out, blocked, human_wrote, answered, newer_inbound, budget_…, loop_…, too_old (for the rule, or held too long) and others; superseded: a newer one of the thread took its place; rule_off: the rule was switched off, or is gone from its file; mode_off: all rules were switched off.';
comment on column reporting.rule_blocks.blocked_count is 'Texts.';
