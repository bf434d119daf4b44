alter table ops.rules_loaded add column limits jsonb not null default '{}';
comment on column ops.rules_loaded.limits is 'The account''s limits as the file sets them: sends a day, and micro-dollars.';

alter table ops.send_control add column sender_id bigint;
comment on column ops.send_control.sender_id is 'The user in whose name sends go out, as the newest message that one became shows it; NULL = none, as with an API key.';

-- What did not match is forgotten first, and most runs are of that kind.
create index rule_runs_unmatched on ops.rule_runs (evaluated_at) where not is_matched;
