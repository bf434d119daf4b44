create view reporting.call_interval as
select
  r.bucket_at,
  r.bucket_at at time zone p.time_zone as bucket_local,
  r.local_date,
  reporting.date_key(r.local_date) as date_key,
  r.local_hour,
  r.direction,
  r.is_business_hours,
  r.call_count, r.answered_count, r.voicemail_count, r.abandoned_count, r.short_abandoned_count, r.missed_count, r.unknown_count,
  case p.service_level_seconds
    when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
    when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
  end as answered_in_time_count,
  r.talk_seconds, r.talk_count, r.duration_seconds, r.answer_wait_seconds, r.answer_wait_count, r.longest_wait_seconds,
  r.transferred_count, r.recorded_count, r.called_back_count, r.repeated_count
from rollups.call_interval_rollup r
  cross join reporting.params p
where not r.is_internal;

comment on view reporting.call_interval is 'One row is a quarter of an hour, a direction of external calls and whether the business was open when they began: a quarter in which it opens or closes can have two. A quarter without calls has no row.';
comment on column reporting.call_interval.bucket_at is 'Begin of the quarter of an hour.';
comment on column reporting.call_interval.bucket_local is 'The same by the clock on the wall.';
comment on column reporting.call_interval.local_date is 'Its local day.';
comment on column reporting.call_interval.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.call_interval.local_hour is 'Its local hour.';
comment on column reporting.call_interval.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_interval.is_business_hours is 'Whether the schedule of params was open when the calls began. Changed hours count after reporting rebuild.';
comment on column reporting.call_interval.call_count is 'Calls.';
comment on column reporting.call_interval.answered_count is 'Somebody answered.';
comment on column reporting.call_interval.voicemail_count is 'Ended in a mailbox.';
comment on column reporting.call_interval.abandoned_count is 'The caller gave up after more than the short-abandon threshold of params.';
comment on column reporting.call_interval.short_abandoned_count is 'The caller gave up within the short-abandon threshold of params.';
comment on column reporting.call_interval.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up.';
comment on column reporting.call_interval.unknown_count is 'The service reports no outcome.';
comment on column reporting.call_interval.answered_in_time_count is 'Answered within service_level_seconds of params; of inbound calls whose wait is known.';
comment on column reporting.call_interval.talk_seconds is 'Connected time of the answered calls that report it. Time on hold is inside it: the service does not report hold or after-call work.';
comment on column reporting.call_interval.talk_count is 'Answered calls that report their connected time: the n of talk_avg_seconds.';
comment on column reporting.call_interval.duration_seconds is 'Length including ringing, of the calls that report it.';
comment on column reporting.call_interval.answer_wait_seconds is 'Waits of the answered inbound calls together.';
comment on column reporting.call_interval.answer_wait_count is 'Answered inbound calls whose wait is known: the n of answer_wait_avg_seconds.';
comment on column reporting.call_interval.longest_wait_seconds is 'Longest wait, answered or not; NULL = none known.';
comment on column reporting.call_interval.transferred_count is 'Transferred at least once.';
comment on column reporting.call_interval.recorded_count is 'Audio was captured.';
comment on column reporting.call_interval.called_back_count is 'The service names the call that returned it.';
comment on column reporting.call_interval.repeated_count is 'The caller had called before, within the service''s own window.';
