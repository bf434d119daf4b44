-- What is refused is asked for again, soon at first and ever more seldom: for that it must be known since when it is.
alter table ops.sync_targets add column refused_at timestamptz;
comment on column ops.sync_targets.refused_at is 'Since when its reads settle forbidden or refused; null when the last one did not.';
