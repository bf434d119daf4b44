-- One row per check: how fresh, complete and good the data is. Except for the ages in seconds in area fresh, zero everywhere is good.
-- Nothing here is repaired by guessing.
create view reporting.data_quality as
select
  -- fresh: how current the data and totals are; complete: what the service lists but is not mirrored; quality: oddities in the mirrored
  -- data.
  'fresh' as area,
  'newest call' as check_name, -- What was checked.
  extract(epoch from now() - max(started_at))::bigint as found_count, -- How many were found; for an age, seconds. NULL = there is no data.
  -- When it was counted, NULL = just now; for an age, the time it starts from; for waiting changes, the oldest one.
  max(started_at) as counted_at,
  'Seconds since the newest call that is held began.' as meaning -- What it means.
from (select started_at from warehouse.calls where started_at <= now() order by started_at desc limit 1) newest
union all
select 'fresh', 'newest text', extract(epoch from now() - max(sent_at))::bigint, max(sent_at), 'Seconds since the newest text that is held was sent.'
from (select sent_at from warehouse.sms_messages where sent_at <= now() order by sent_at desc limit 1) newest
union all
select 'fresh', 'newest transcript', extract(epoch from now() - max(call_started_at))::bigint, max(call_started_at), 'Seconds since the newest call with a transcript began.'
from (select call_started_at from rollups.transcript_agents where call_started_at <= now() order by call_started_at desc limit 1) newest
union all
select 'fresh', 'reports', extract(epoch from now() - drained_at)::bigint, drained_at, 'Seconds since the totals had all of what was mirrored.'
from ops.rollup_state
union all
select 'fresh', 'changes waiting', count(*), (select marked_at from ops.rollup_markers order by marker_id limit 1), 'Changes that the totals do not show yet, counted up to 100,000.'
from (select 1 from ops.rollup_markers limit 100000) waiting
union all
select 'fresh', 'changes set aside', count(*), null, 'Changes whose totals could not be computed: the log of the worker says why. They are tried again within a quarter of an hour.'
from ops.rollup_troubles
union all
select 'fresh', 'definitions changed since the last rebuild', (meaning is distinct from ops.rollup_meaning())::integer, rebuilt_at,
  '1: params or delivery words were changed. Run `npx trunkline reporting rebuild`.'
from ops.rollup_state
union all
select 'complete', 'hours of calls not proven', count(*), null, 'Hours that are over and in which not everything that the service lists is held yet; completeness has them by day.'
from ops.coverage where stream = 'calls' and to_at <= now() and state <> 'proven'
union all
select 'complete', 'nights of attribution with a problem, 7 days', count(*), max(finished_at), 'Days whose calls the service did not tell by each queue, huntgroup and user: legs and ends alone tell what touched them. ops.attribution_days says why.'
from ops.attribution_days where problem is not null and local_date > reporting.local_day(now()) - 8
union all
select 'quality', 'delivery words not mapped', count(distinct lower(trim(f.status))), null, 'Words of carriers that reporting.delivery_status_map lacks; their texts count as undetermined.'
from rollups.sms_day_rollup r cross join jsonb_to_recordset(r.failures) f (class text, status text) where f.class = 'unmapped'
union all
select 'quality', 'texts of rules that may have been sent', count(*), null, 'Their outcome is not known yet, or somebody must look: page /sends. Nothing is sent again by itself.'
from ops.sends where state in ('UNKNOWN', 'NEEDS_HUMAN')
union all
select 'quality', 'texts of rules without a price', coalesce(sum(unpriced_count), 0), null, 'They were sent, and the answer with the price was lost: no sum of cost has them.'
from rollups.sms_cost_rollup
union all
select 'quality', 'evaluations of rules that failed, 7 days', coalesce(sum(error_count), 0), null, 'A condition or a template failed, so that the rule did nothing; rule_outcomes says which.'
from rollups.rule_outcome_rollup where local_date > reporting.local_day(now()) - 7
union all
select 'quality', 'calls without a start', count(*), null, 'Calls that no report by time can show.'
from warehouse.calls where started_at is null and deleted_at is null;
