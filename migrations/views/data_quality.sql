create view reporting.data_quality as
select 'delivery words not mapped' as check_name, count(distinct lower(trim(delivery_status))) as found_count, null::timestamptz as counted_at,
  'Words of carriers that reporting.delivery_status_map lacks; their texts count as undetermined.' as meaning
from rollups.sms_failure_rollup where delivery_class = 'unmapped'
union all
select 'rollup changes waiting', count(*), null, 'Changes that the rollups do not show yet, counted up to 100,000.'
from (select 1 from ops.rollup_markers limit 100000) waiting
union all
select 'rollup changes set aside', count(*), null, 'Changes whose rollups could not be computed: the log of the worker says why. They are tried again within a quarter of an hour.'
from ops.rollup_troubles
union all
select 'definitions changed since the last rebuild', (meaning is distinct from ops.rollup_meaning())::integer, rebuilt_at,
  '1: params, hours, holidays or delivery words were changed. Run `npx trunkline reporting rebuild`.'
from ops.rollup_state
union all
select 'days in another zone than TIME_ZONE', coalesce(s.wanted_time_zone <> p.time_zone, false)::integer, null,
  case when s.wanted_time_zone <> p.time_zone
    then '1: days and hours are those of ' || p.time_zone || ', and TIME_ZONE is ' || s.wanted_time_zone || '. Run `npx trunkline reporting rebuild`.'
    else '1: TIME_ZONE was changed, and the days and hours are still those of the zone before. Run `npx trunkline reporting rebuild`.'
  end
from ops.rollup_state s cross join reporting.params p
union all
select 'language of the search is changing', (previous is not null)::integer, null, '1: transcripts are analysed again after a change of SEARCH_LANGUAGE; until then they are found by words of either language.'
from ops.search_state
union all
select 'texts of rules that may have been sent', count(*), null, 'Their outcome is not known yet, or somebody must look: `npx trunkline sends list`. Nothing is sent again by itself.'
from ops.sends where state in ('UNKNOWN', 'NEEDS_HUMAN')
union all
select 'texts of rules without a price', coalesce(sum(unpriced_count), 0), null, 'They were sent, and the answer with the price was lost: no sum of cost has them.'
from rollups.sms_cost_rollup
union all
select 'evaluations of rules that failed, 7 days', coalesce(sum(error_count), 0), null, 'A condition or a template failed, so that the rule did nothing; rule_outcomes says which.'
from rollups.rule_outcome_rollup where local_date > reporting.local_day(now()) - 7
union all
select 'searches of calls refused', count(*), null, 'Of the four kinds (queue, huntgroup, user, extension), those that the service refuses or whose filter it does not heed: legs and ends alone tell what touched a call.'
from ops.attribution_parking
union all
select 'searches of calls waiting', count(*), null, 'Hours and days that are not searched by every queue, huntgroup, user or extension yet.'
from ops.attribution_windows where finished_at is null
union all
select check_name, found_count, counted_at, case check_name
    when 'outcomes not reported' then 'Calls that the service gives no outcome.'
    when 'transcripts not paired' then 'Transcripts whose recorded leg is not known: their agent is only a name.'
    when 'calls without a start' then 'Calls that no report by time can show.'
    when 'talk longer than the call' then 'Calls whose connected time is longer than their length.'
    when 'extensions credited to nobody' then 'Attributions to extensions that no user had when the call started, or several.'
    when 'transcripts without their call' then 'Transcripts of calls that are not held: no report shows them.'
    when 'recordings without their call' then 'Recordings of calls that are not held.'
    when 'legs without their call' then 'Legs of calls that are not held.'
  end
from rollups.audits;

comment on view reporting.data_quality is 'One row is a check, and how much of something odd it found in the data. Zero everywhere is good; nothing here is repaired by guessing.';
comment on column reporting.data_quality.check_name is 'What was looked for.';
comment on column reporting.data_quality.found_count is 'How much of it was found.';
comment on column reporting.data_quality.counted_at is 'When it was counted; NULL = just now.';
comment on column reporting.data_quality.meaning is 'What it means.';
