create table ops.views (
  view_name text primary key,
  text_hash text not null,
  applied_at timestamptz not null default now()
);
comment on table ops.views is 'The views of the schema reporting that a release made, with the text that they were made from.';
comment on column ops.views.view_name is 'The view.';
comment on column ops.views.text_hash is 'Hash of its text: another one, and it is made anew.';
comment on column ops.views.applied_at is 'When it was made.';

create table ops.rollup_state (
  is_only boolean primary key default true check (is_only),
  drained_at timestamptz,
  meaning text,
  rebuilt_at timestamptz
);
insert into ops.rollup_state default values;
comment on table ops.rollup_state is 'How the rollups of the schema reporting were last kept; one row.';
comment on column ops.rollup_state.is_only is 'There is one row.';
comment on column ops.rollup_state.drained_at is 'When no marker was left.';
comment on column ops.rollup_state.meaning is 'ops.rollup_meaning() as it was when all rollups were last rebuilt; NULL = they never were.';
comment on column ops.rollup_state.rebuilt_at is 'When that was.';

create function ops.rollup_meaning() returns text language sql stable as $$
  select md5(concat_ws('|', p.time_zone, p.short_abandon_seconds, p.callback_window, p.session_gap, p.schedule_id,
    (select string_agg(s::text, ',' order by s.schedule_id) from reporting.schedules s),
    (select string_agg(h::text, ',' order by h.schedule_id, h.isodow, h.opens) from reporting.business_hours h),
    (select string_agg(h.schedule_id || ' ' || h.holiday_date, ',' order by h.schedule_id, h.holiday_date) from reporting.holidays h),
    (select string_agg(m::text, ',' order by m.word) from reporting.delivery_status_map m)))
  from reporting.params p
$$;
comment on function ops.rollup_meaning is 'A hash of every definition that is worked into the rollups: another one, and they must be rebuilt.';
update ops.rollup_state set meaning = ops.rollup_meaning();

create table reporting.audits (
  check_name text primary key,
  found_count bigint not null,
  counted_at timestamptz not null default now()
);
comment on table reporting.audits is 'Counts that take too long for a dashboard, taken hourly; read them through data_quality.';
comment on column reporting.audits.check_name is 'What was counted.';
comment on column reporting.audits.found_count is 'How many were found.';
comment on column reporting.audits.counted_at is 'When.';

-- What is mirrored already is rolled up by the first drains.
insert into ops.rollup_markers (kind, bucket_at)
select distinct 'calls', ops.quarter_of(started_at) from warehouse.calls where started_at is not null order by 2;
insert into ops.rollup_markers (kind, bucket_at)
select distinct 'texts', ops.quarter_of(sent_at) from warehouse.sms_messages where sent_at is not null order by 2;
insert into ops.rollup_markers (kind, conversation_id) select 'thread', conversation_id from warehouse.sms_conversations order by 2;
