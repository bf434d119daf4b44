-- A rule that is renamed has no history under its new name, and a silence of yesterday looked new to it: everybody who had been
-- texted under the old name was texted once more.
alter table ops.rules_loaded add column since jsonb not null default '{}';
comment on column ops.rules_loaded.since is 'Since when each rule has been in force without a break, by name, trigger and silence. It acts on no silence that had become long enough before, and replies to nothing that another rule had replied to before.';
