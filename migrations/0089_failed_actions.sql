create index rule_actions_failed on ops.rule_actions (settled_at) where state in ('failed', 'unclear');
