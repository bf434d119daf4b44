create or replace function ops.tally_runs() returns trigger
language plpgsql as $$
begin
  insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
  select min(evaluated_at), version, mode, word, array_agg(rule), 1
  from (select *, case when is_matched then 'matched' else split_part(reason, ':', 1) end as word,
          row_number() over (partition by rule, version, mode, is_matched, split_part(reason, ':', 1)) as nth from new_rows) n
  group by version, mode, word, nth;
  return null;
end $$;
comment on function ops.tally_runs is 'Counts inserted runs.';
create or replace trigger tally_runs after insert on ops.rule_runs referencing new table as new_rows
  for each statement execute function ops.tally_runs();

create or replace function ops.tally_actions() returns trigger
language plpgsql as $$
declare
  settled text := 'select run_id, kind, state, 1 as change from new_rows where state <> ''waiting''';
begin
  if tg_op = 'UPDATE' then
    settled := 'select n.run_id, n.kind, v.state, v.change from new_rows n join old_rows o using (run_id, ordinal)
        cross join lateral (values (n.state, 1), (o.state, -1)) v (state, change)
      where n.state <> o.state and v.state <> ''waiting''';
  end if;
  -- Dynamic SQL is planned each time: a cached plan would scan all runs.
  execute format($sql$
    insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
    select r.evaluated_at, r.version, r.mode, case when s.kind = 'reply' then 'reply_' else 'action_' end || s.state, array[r.rule], s.change
    from (%s) s join ops.rule_runs r on r.run_id = s.run_id
  $sql$, settled);
  return null;
end $$;
comment on function ops.tally_actions is 'Counts steps of rules that reached or left a state.';
create or replace trigger tally_actions after update on ops.rule_actions referencing old table as old_rows new table as new_rows
  for each statement execute function ops.tally_actions();
create or replace trigger tally_new_actions after insert on ops.rule_actions referencing new table as new_rows
  for each statement execute function ops.tally_actions();

create or replace function ops.mark_sends() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into ops.send_markers (planned_at, charged_at) select planned_at, coalesce(dispatched_at, reserved_at) from new_rows;
  else
    execute $sql$
      insert into ops.send_markers (planned_at, charged_at)
      select n.planned_at, v.charged_at
      from new_rows n join old_rows o using (send_id)
        cross join lateral (select distinct moment as charged_at
          from unnest(array[coalesce(n.dispatched_at, n.reserved_at), coalesce(o.dispatched_at, o.reserved_at)]) moment) v
      where (n.state, n.reason, n.units, n.message_type, n.reserved_micros, n.settled_micros, n.reserved_at, n.dispatched_at, n.number)
        is distinct from (o.state, o.reason, o.units, o.message_type, o.reserved_micros, o.settled_micros, o.reserved_at, o.dispatched_at, o.number)
    $sql$;
  end if;
  return null;
end $$;
comment on function ops.mark_sends is 'Marks the days of sends that changed in columns that reports use.';
create or replace trigger mark_inserts after insert on ops.sends referencing new table as new_rows
  for each statement execute function ops.mark_sends();
create or replace trigger mark_updates after update on ops.sends referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_sends();
