-- One row per local day and queue or huntgroup that inbound external calls entered, counted by visit: what happened in that queue, whatever
-- became of the call later. Every visit has one outcome, so the counts add up. Percentiles do not: for a week, compute them from
-- fct_queue_visit. Calls given up before any queue are not included: see abandoned_in in fct_call.
create view reporting.queue_daily as
select
  local_date, -- Local day on which the calls began.
  reporting.date_key(local_date) as date_key, -- The same as yyyymmdd; see dim_date.
  kind, -- queue or huntgroup.
  endpoint, -- Its number, else its name.
  kind || ':' || endpoint as queue_key, -- The queue or huntgroup; see dim_queue.
  visit_count, -- Visits. A call that returns to a queue visits it twice.
  answered_count, -- Somebody answered from this queue.
  abandoned_count, -- The caller gave up in this queue, later than the short-abandon threshold of params (counted from the first queue).
  short_abandoned_count, -- The caller gave up in this queue, within that threshold.
  overflowed_count, -- Visits that continued in another queue or huntgroup, or again in the same one; see next_queue_key in fct_queue_visit.
  voicemail_count, -- Visits that ended in a mailbox.
  left_count, -- Visits that continued in a menu or elsewhere.
  -- Visits that ended unanswered without the caller being reported to have given up. A call in two queues counts in both, with what
  -- happened in each.
  missed_count,
  unknown_count, -- How the visit ended is not known.
  visit_count - short_abandoned_count as answerable_count, -- All visits except short-abandoned ones: the base of the percentages.
  answered_in_time_count, -- Answered within service_level_seconds of params, counted from entering this queue.
  answer_wait_count, -- Answered visits whose wait is known: the n of the answer percentiles.
  answered_count - answer_wait_count as answer_wait_unknown_count, -- Answered visits whose wait is unknown; left out of the service level.
  -- Answered, in percent of all visits except short-abandoned ones. Overflows lower it.
  round(100.0 * answered_count / nullif(visit_count - short_abandoned_count, 0), 2) as answer_rate_without_short_pct,
  -- Abandoned in this queue, in percent of all visits except short-abandoned ones.
  round(100.0 * abandoned_count / nullif(visit_count - short_abandoned_count, 0), 2) as abandon_rate_pct,
  -- Answered in time, in percent of all visits except short-abandoned ones and answered ones with an unknown wait. Overflowed, mailbox and
  -- missed visits lower it.
  round(100.0 * answered_in_time_count / nullif(visit_count - short_abandoned_count - answered_count + answer_wait_count, 0), 2) as service_level_pct,
  answer_wait_seconds, -- Total wait of the answered visits.
  answer_wait_p50_seconds, -- Median wait of the answered visits.
  answer_wait_p90_seconds, -- 90th percentile of the wait of the answered visits.
  abandon_wait_count, -- Abandoned visits whose wait is known: the n of the abandon percentiles.
  abandon_wait_p50_seconds, -- Median time from entering the queue until the caller gave up, without short-abandoned visits.
  abandon_wait_p90_seconds, -- 90th percentile of the same.
  longest_wait_seconds -- Longest time until a visit was answered, given up or left; NULL = none known.
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
