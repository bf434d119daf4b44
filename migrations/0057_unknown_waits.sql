-- `greatest` passes over a NULL: a wait of which only a part is reported stood as none at all, answered at once. The view takes
-- it for unknown; what was rolled up of it is computed anew.
comment on column warehouse.calls.wait_seconds is 'duration_seconds less talk_seconds: ringing, menus and queue together; 0 also where one of the two is NULL, which reporting.fct_call takes for unknown. Hold time is not reported by the API.';

insert into ops.rollup_markers (kind, bucket_at)
select distinct 'calls', ops.quarter_of(started_at) from warehouse.calls
where started_at is not null and (duration_seconds is null or talk_seconds is null);
