create view reporting.queue_daily as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  kind,
  endpoint,
  kind || ':' || endpoint as queue_key,
  visit_count, answered_count, abandoned_count, short_abandoned_count, overflowed_count, voicemail_count, left_count, missed_count,
  unknown_count,
  visit_count - short_abandoned_count as answerable_count,
  answered_in_time_count,
  answer_wait_count,
  answered_count - answer_wait_count as answer_wait_unknown_count,
  round(100.0 * answered_count / nullif(visit_count - short_abandoned_count, 0), 2) as answer_rate_without_short_pct,
  round(100.0 * abandoned_count / nullif(visit_count - short_abandoned_count, 0), 2) as abandon_rate_pct,
  round(100.0 * answered_in_time_count / nullif(visit_count - short_abandoned_count - answered_count + answer_wait_count, 0), 2) as service_level_pct,
  answer_wait_seconds,
  answer_wait_p50_seconds,
  answer_wait_p90_seconds,
  abandon_wait_count,
  abandon_wait_p50_seconds,
  abandon_wait_p90_seconds,
  longest_wait_seconds
from (
  select v.local_date, v.kind, v.endpoint,
    count(*) as visit_count,
    count(*) filter (where v.outcome = 'answered') as answered_count,
    count(*) filter (where v.outcome = 'abandoned') as abandoned_count,
    count(*) filter (where v.outcome = 'short_abandoned') as short_abandoned_count,
    count(*) filter (where v.outcome = 'overflowed') as overflowed_count,
    count(*) filter (where v.outcome = 'voicemail') as voicemail_count,
    count(*) filter (where v.outcome = 'left') as left_count,
    count(*) filter (where v.outcome = 'missed') as missed_count,
    count(*) filter (where v.outcome = 'unknown') as unknown_count,
    count(*) filter (where v.outcome = 'answered' and v.wait_seconds <= p.service_level_seconds) as answered_in_time_count,
    count(v.wait_seconds) filter (where v.outcome = 'answered') as answer_wait_count,
    coalesce(sum(v.wait_seconds) filter (where v.outcome = 'answered'), 0) as answer_wait_seconds,
    percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'answered') as answer_wait_p50_seconds,
    percentile_cont(0.9) within group (order by v.wait_seconds) filter (where v.outcome = 'answered') as answer_wait_p90_seconds,
    count(v.wait_seconds) filter (where v.outcome = 'abandoned') as abandon_wait_count,
    percentile_cont(0.5) within group (order by v.wait_seconds) filter (where v.outcome = 'abandoned') as abandon_wait_p50_seconds,
    percentile_cont(0.9) within group (order by v.wait_seconds) filter (where v.outcome = 'abandoned') as abandon_wait_p90_seconds,
    max(v.wait_seconds) as longest_wait_seconds
  from rollups.queue_visits v cross join reporting.params p
  where v.direction = 'inbound'
  group by v.local_date, v.kind, v.endpoint
) counted;

comment on view reporting.queue_daily is 'One row per local day and queue or huntgroup that inbound external calls entered, counted by visit: what happened in that queue, whatever became of the call later. Every visit has one outcome, so the counts add up. Percentiles do not: for a week, compute them from fct_queue_visit. Calls given up before any queue are not included: see abandoned_in in fct_call.';
comment on column reporting.queue_daily.local_date is 'Local day on which the calls began.';
comment on column reporting.queue_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.queue_daily.kind is 'queue or huntgroup.';
comment on column reporting.queue_daily.endpoint is 'Its number, else its name.';
comment on column reporting.queue_daily.queue_key is 'The queue or huntgroup; see dim_queue.';
comment on column reporting.queue_daily.visit_count is 'Visits. A call that returns to a queue visits it twice.';
comment on column reporting.queue_daily.answered_count is 'Somebody answered from this queue.';
comment on column reporting.queue_daily.abandoned_count is 'The caller gave up in this queue, later than the short-abandon threshold of params (counted from the first queue).';
comment on column reporting.queue_daily.short_abandoned_count is 'The caller gave up in this queue, within that threshold.';
comment on column reporting.queue_daily.overflowed_count is 'Visits that continued in another queue or huntgroup, or again in the same one; see next_queue_key in fct_queue_visit.';
comment on column reporting.queue_daily.voicemail_count is 'Visits that ended in a mailbox.';
comment on column reporting.queue_daily.left_count is 'Visits that continued in a menu or elsewhere.';
comment on column reporting.queue_daily.missed_count is 'Visits that ended unanswered without the caller being reported to have given up. A call in two queues counts in both, with what happened in each.';
comment on column reporting.queue_daily.unknown_count is 'How the visit ended is not known.';
comment on column reporting.queue_daily.answerable_count is 'All visits except short-abandoned ones: the base of the percentages.';
comment on column reporting.queue_daily.answered_in_time_count is 'Answered within service_level_seconds of params, counted from entering this queue.';
comment on column reporting.queue_daily.answer_wait_count is 'Answered visits whose wait is known: the n of the answer percentiles.';
comment on column reporting.queue_daily.answer_wait_unknown_count is 'Answered visits whose wait is unknown; left out of the service level.';
comment on column reporting.queue_daily.answer_rate_without_short_pct is 'Answered, in percent of all visits except short-abandoned ones. Overflows lower it.';
comment on column reporting.queue_daily.abandon_rate_pct is 'Abandoned in this queue, in percent of all visits except short-abandoned ones.';
comment on column reporting.queue_daily.service_level_pct is 'Answered in time, in percent of all visits except short-abandoned ones and answered ones with an unknown wait. Overflowed, mailbox and missed visits lower it.';
comment on column reporting.queue_daily.answer_wait_seconds is 'Total wait of the answered visits.';
comment on column reporting.queue_daily.answer_wait_p50_seconds is 'Median wait of the answered visits.';
comment on column reporting.queue_daily.answer_wait_p90_seconds is '90th percentile of the wait of the answered visits.';
comment on column reporting.queue_daily.abandon_wait_count is 'Abandoned visits whose wait is known: the n of the abandon percentiles.';
comment on column reporting.queue_daily.abandon_wait_p50_seconds is 'Median time from entering the queue until the caller gave up, without short-abandoned visits.';
comment on column reporting.queue_daily.abandon_wait_p90_seconds is '90th percentile of the same.';
comment on column reporting.queue_daily.longest_wait_seconds is 'Longest time until a visit was answered, given up or left; NULL = none known.';
