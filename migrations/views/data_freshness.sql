create view reporting.data_freshness as
select 'calls' as entity, max(started_at) as newest_at, max(fetched_at) as last_read_at, null::integer as waiting_count, null::timestamptz as waiting_since_at
from (select started_at, fetched_at from warehouse.calls where started_at <= now() order by started_at desc limit 500) newest
union all
select 'texts', max(sent_at), max(fetched_at), null, null
from (select sent_at, fetched_at from warehouse.sms_messages where sent_at <= now() order by sent_at desc limit 500) newest
union all
select 'transcripts', max(started_at) filter (where transcript_count > 0), max(transcripts_fetched_at), null, null
from (select started_at, transcript_count, transcripts_fetched_at from warehouse.calls where started_at <= now() order by started_at desc limit 500) newest
union all
select 'rollups', s.drained_at, s.drained_at, (select count(*) from (select 1 from ops.rollup_markers limit 100000) waiting)::integer,
  (select marked_at from ops.rollup_markers order by marker_id limit 1)
from ops.rollup_state s;

comment on view reporting.data_freshness is 'One row is a kind of data, and how fresh it is. Whether they are whole is another question: completeness answers it.';
comment on column reporting.data_freshness.entity is 'calls, texts, transcripts or rollups.';
comment on column reporting.data_freshness.newest_at is 'Start of the newest call, the newest text, the start of the newest call with a transcript; of rollups, when they were last even with the facts.';
comment on column reporting.data_freshness.last_read_at is 'When the service was last read, among the newest 500.';
comment on column reporting.data_freshness.waiting_count is 'Of rollups: changes that are not worked in yet, counted up to 100,000.';
comment on column reporting.data_freshness.waiting_since_at is 'Of rollups: the oldest of these.';
