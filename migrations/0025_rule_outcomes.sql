-- Runs are kept for a while only, so they are counted when they are written, and their counts outlive them.
create table ops.rule_tallies (
  tally_id bigint generated always as identity primary key,
  happened_at timestamptz not null,
  version text not null,
  mode text not null,
  word text not null,
  rules text[] not null,
  change integer not null
);
comment on table ops.rule_tallies is 'Runs and steps of rules that are not in the day totals yet. Written with them, taken when they are added.';
comment on column ops.rule_tallies.tally_id is 'Order of writing.';
comment on column ops.rule_tallies.happened_at is 'When the rules were tried.';
comment on column ops.rule_tallies.version is 'Fingerprint of the rules file then.';
comment on column ops.rule_tallies.mode is 'dry-run or live.';
comment on column ops.rule_tallies.word is 'Of a run its reason without what follows a colon; of a step action_ or reply_ and its state.';
comment on column ops.rule_tallies.rules is 'The rules that this was so for, each once.';
comment on column ops.rule_tallies.change is 'How many more of each; below 0 where a state was left.';

create function ops.tally_runs() returns trigger language plpgsql as $$
begin
  insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
  select min(evaluated_at), version, mode, word, array_agg(rule), 1
  from (select *, case when is_matched then 'matched' else split_part(reason, ':', 1) end as word,
          row_number() over (partition by rule, version, mode, is_matched, split_part(reason, ':', 1)) as nth from new_rows) n
  group by version, mode, word, nth;
  return null;
end $$;
comment on function ops.tally_runs is 'Counts the runs that were written.';
create trigger tally_runs after insert on ops.rule_runs referencing new table as new_rows
  for each statement execute function ops.tally_runs();

create function ops.tally_actions() returns trigger language plpgsql as $$
declare
  settled text := 'select run_id, kind, state, 1 as change from new_rows where state <> ''waiting''';
begin
  if tg_op = 'UPDATE' then
    settled := 'select n.run_id, n.kind, v.state, v.change from new_rows n join old_rows o using (run_id, ordinal)
        cross join lateral (values (n.state, 1), (o.state, -1)) v (state, change)
      where n.state <> o.state and v.state <> ''waiting''';
  end if;
  -- Planned each time: a plan that was made for one step would read every run.
  execute format($sql$
    insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
    select r.evaluated_at, r.version, r.mode, case when s.kind = 'reply' then 'reply_' else 'action_' end || s.state, array[r.rule], s.change
    from (%s) s join ops.rule_runs r on r.run_id = s.run_id
  $sql$, settled);
  return null;
end $$;
comment on function ops.tally_actions is 'Counts the steps of rules that reached a state, or left it.';
create trigger tally_new_actions after insert on ops.rule_actions referencing new table as new_rows
  for each statement execute function ops.tally_actions();
create trigger tally_actions after update on ops.rule_actions referencing old table as old_rows new table as new_rows
  for each statement execute function ops.tally_actions();

-- Append-only, as the markers of other rollups are: one that is updated in place can be taken before its facts are seen.
create table ops.send_markers (
  marker_id bigint generated always as identity primary key,
  planned_at timestamptz,
  charged_at timestamptz
);
comment on table ops.send_markers is 'Days of the send ledger whose totals are no longer right. Written with its rows, taken when the totals are made anew.';
comment on column ops.send_markers.marker_id is 'Order of marking.';
comment on column ops.send_markers.planned_at is 'An instant of a day on which sends were planned.';
comment on column ops.send_markers.charged_at is 'An instant of a day on which sends went out, or were to.';

create function ops.mark_sends() returns trigger language plpgsql as $$
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
comment on function ops.mark_sends is 'Marks the days of sends that changed in what the reports count.';
create trigger mark_inserts after insert on ops.sends referencing new table as new_rows
  for each statement execute function ops.mark_sends();
create trigger mark_updates after update on ops.sends referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_sends();

-- A reply is gained by a send when it comes within a day; it can be mirrored much later.
create index sends_answerable on ops.sends (line, number, dispatched_at) include (planned_at) where state = 'SENT';
create function ops.mark_replies() returns trigger language plpgsql as $$
declare
  changed text := case tg_op
    when 'INSERT' then 'select line, number, sent_at from new_rows where direction = ''in'''
    when 'DELETE' then 'select line, number, sent_at from old_rows where direction = ''in'''
    else 'select v.line, v.number, v.sent_at from new_rows n join old_rows o using (conversation_id, message_id)
            cross join lateral (values (n.line, n.number, n.sent_at), (o.line, o.number, o.sent_at)) v (line, number, sent_at)
          where (n.direction, n.sent_at, n.deleted_at) is distinct from (o.direction, o.sent_at, o.deleted_at)'
  end;
begin
  execute format($sql$
    insert into ops.send_markers (planned_at)
    select s.planned_at from (%s) m join ops.sends s on s.line = m.line and s.number = m.number and s.state = 'SENT'
      and s.dispatched_at < m.sent_at and s.dispatched_at >= m.sent_at - interval '24 hours'
  $sql$, changed);
  return null;
end $$;
comment on function ops.mark_replies is 'Marks the days of sends that texts of the recipient followed.';
create trigger mark_new_replies after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.mark_replies();
create trigger mark_changed_replies after update on warehouse.sms_messages referencing old table as old_rows new table as new_rows
  for each statement execute function ops.mark_replies();
create trigger mark_lost_replies after delete on warehouse.sms_messages referencing old table as old_rows
  for each statement execute function ops.mark_replies();

create table ops.outcome_state (
  is_only boolean primary key default true check (is_only),
  time_zone text,
  drained_at timestamptz
);
insert into ops.outcome_state default values;
comment on table ops.outcome_state is 'How the totals of rules and sends were last kept; one row.';
comment on column ops.outcome_state.is_only is 'There is one row.';
comment on column ops.outcome_state.time_zone is 'Whose days the sends are counted by: another one in reporting.params, and they are counted anew.';
comment on column ops.outcome_state.drained_at is 'When nothing was left to add.';

create table reporting.rule_outcome_rollup (
  local_date date not null,
  rule text not null,
  version text not null,
  mode text not null,
  evaluation_count integer not null default 0,
  matched_count integer not null default 0,
  condition_false_count integer not null default 0,
  too_old_count integer not null default 0,
  limited_count integer not null default 0,
  stopped_count integer not null default 0,
  unfit_count integer not null default 0,
  error_count integer not null default 0,
  action_done_count integer not null default 0,
  action_would_count integer not null default 0,
  action_skipped_count integer not null default 0,
  action_failed_count integer not null default 0,
  action_unclear_count integer not null default 0,
  reply_unplanned_count integer not null default 0,
  planned_count integer not null default 0,
  sent_count integer not null default 0,
  would_send_count integer not null default 0,
  blocked_count integer not null default 0,
  blocked_by_gate jsonb not null default '{}',
  skipped_count integer not null default 0,
  rejected_count integer not null default 0,
  not_sent_count integer not null default 0,
  waiting_count integer not null default 0,
  unclear_count integer not null default 0,
  segment_count integer not null default 0,
  would_segment_count integer not null default 0,
  charged_micros bigint not null default 0,
  unpriced_count integer not null default 0,
  set_aside_micros bigint not null default 0,
  replied_count integer not null default 0,
  opted_out_count integer not null default 0,
  primary key (local_date, rule, version, mode)
);
comment on table reporting.rule_outcome_rollup is 'What each rule did, by local day; read it through rule_outcomes.';
comment on column reporting.rule_outcome_rollup.local_date is 'Local day on which the rule was tried, or its text was planned.';
comment on column reporting.rule_outcome_rollup.rule is 'Name of the rule.';
comment on column reporting.rule_outcome_rollup.version is 'Fingerprint of the rules file then.';
comment on column reporting.rule_outcome_rollup.mode is 'dry-run or live.';
comment on column reporting.rule_outcome_rollup.evaluation_count is 'How often it was tried.';
comment on column reporting.rule_outcome_rollup.matched_count is 'How often it was to act.';
comment on column reporting.rule_outcome_rollup.condition_false_count is 'Not to act: its condition did not hold.';
comment on column reporting.rule_outcome_rollup.too_old_count is 'Not to act: what it waits for had happened too long ago.';
comment on column reporting.rule_outcome_rollup.limited_count is 'Not to act: its own limit was reached.';
comment on column reporting.rule_outcome_rollup.stopped_count is 'Not to act: an earlier rule had said stop.';
comment on column reporting.rule_outcome_rollup.unfit_count is 'Not to act: a group, nobody to answer, or gone.';
comment on column reporting.rule_outcome_rollup.error_count is 'Not to act: its condition or template failed.';
comment on column reporting.rule_outcome_rollup.action_done_count is 'Steps other than replies that were done.';
comment on column reporting.rule_outcome_rollup.action_would_count is 'Steps other than replies that dry-run noted and did not do.';
comment on column reporting.rule_outcome_rollup.action_skipped_count is 'Steps other than replies that there was a reason not to do.';
comment on column reporting.rule_outcome_rollup.action_failed_count is 'Steps other than replies that the service refused.';
comment on column reporting.rule_outcome_rollup.action_unclear_count is 'Steps other than replies whose answer was lost.';
comment on column reporting.rule_outcome_rollup.reply_unplanned_count is 'Replies that were not even planned.';
comment on column reporting.rule_outcome_rollup.planned_count is 'Texts planned.';
comment on column reporting.rule_outcome_rollup.sent_count is 'Of these, sent.';
comment on column reporting.rule_outcome_rollup.would_send_count is 'Of these, kept back by dry-run alone.';
comment on column reporting.rule_outcome_rollup.blocked_count is 'Of these, kept back by a gate.';
comment on column reporting.rule_outcome_rollup.blocked_by_gate is 'These by gate.';
comment on column reporting.rule_outcome_rollup.skipped_count is 'Of these, skipped by the service and not charged.';
comment on column reporting.rule_outcome_rollup.rejected_count is 'Of these, refused by the service and not charged.';
comment on column reporting.rule_outcome_rollup.not_sent_count is 'Of these, given up, provably not sent.';
comment on column reporting.rule_outcome_rollup.waiting_count is 'Of these, not out yet.';
comment on column reporting.rule_outcome_rollup.unclear_count is 'Of these, it is not known whether they were sent.';
comment on column reporting.rule_outcome_rollup.segment_count is 'Segments of the sent texts, worst case where none were reported.';
comment on column reporting.rule_outcome_rollup.would_segment_count is 'Segments of the texts that dry-run kept back, worst case.';
comment on column reporting.rule_outcome_rollup.charged_micros is 'Micro-dollars charged.';
comment on column reporting.rule_outcome_rollup.unpriced_count is 'Sent texts whose price was not reported.';
comment on column reporting.rule_outcome_rollup.set_aside_micros is 'Micro-dollars set aside for texts whose price or outcome is not known.';
comment on column reporting.rule_outcome_rollup.replied_count is 'Sent texts that a text of the recipient followed within 24 hours.';
comment on column reporting.rule_outcome_rollup.opted_out_count is 'Sent texts that a word such as STOP followed within 24 hours.';

create table reporting.sms_cost_rollup (
  local_date date not null,
  line text not null,
  message_type text,
  sent_count integer not null,
  segment_count integer not null,
  charged_micros bigint not null,
  unpriced_count integer not null,
  unpriced_set_aside_micros bigint not null,
  open_count integer not null,
  open_set_aside_micros bigint not null
);
create unique index sms_cost_rollup_key on reporting.sms_cost_rollup (local_date, line, coalesce(message_type, ''));
comment on table reporting.sms_cost_rollup is 'What texts of rules cost, by local day, line and type; read it through sms_cost_daily.';
comment on column reporting.sms_cost_rollup.local_date is 'Local day on which they went out, or were to.';
comment on column reporting.sms_cost_rollup.line is 'The account''s line.';
comment on column reporting.sms_cost_rollup.message_type is 'sms or mms, as billed, before that as reckoned.';
comment on column reporting.sms_cost_rollup.sent_count is 'Texts sent.';
comment on column reporting.sms_cost_rollup.segment_count is 'Their segments.';
comment on column reporting.sms_cost_rollup.charged_micros is 'Micro-dollars that the service charged.';
comment on column reporting.sms_cost_rollup.unpriced_count is 'Texts sent whose price it did not report.';
comment on column reporting.sms_cost_rollup.unpriced_set_aside_micros is 'Micro-dollars set aside for these, the worst case.';
comment on column reporting.sms_cost_rollup.open_count is 'Texts under way, or of which it is not known whether they were sent.';
comment on column reporting.sms_cost_rollup.open_set_aside_micros is 'Micro-dollars set aside for these, the worst case.';
create index sends_charged on ops.sends (coalesce(dispatched_at, reserved_at)) where reserved_at is not null;

-- What rules have done so far: its runs are counted here, its sends by the first drain.
insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
select min(evaluated_at), version, mode, case when is_matched then 'matched' else split_part(reason, ':', 1) end, array[rule], count(*)
from ops.rule_runs group by rule, version, mode, 4, date_trunc('minute', evaluated_at);
insert into ops.rule_tallies (happened_at, version, mode, word, rules, change)
select min(r.evaluated_at), r.version, r.mode, case when a.kind = 'reply' then 'reply_' else 'action_' end || a.state, array[r.rule], count(*)
from ops.rule_actions a join ops.rule_runs r on r.run_id = a.run_id
where a.state <> 'waiting' group by r.rule, r.version, r.mode, 4, date_trunc('minute', r.evaluated_at);
