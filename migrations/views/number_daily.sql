create view reporting.number_daily as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  nullif(endpoint, '') as account_number,
  coalesce(nullif(endpoint, ''), 'unknown') as number_key,
  direction,
  call_count, answered_count, voicemail_count, abandoned_count, short_abandoned_count, missed_count, unknown_count, answered_in_time_count,
  talk_seconds, talk_count, duration_seconds, answer_wait_seconds, answer_wait_count, longest_wait_seconds,
  transferred_count, recorded_count, called_back_count, repeated_count,
  round(100.0 * answered_count / nullif(call_count, 0), 2) as answer_rate_pct,
  round(100.0 * answered_count / nullif(call_count - short_abandoned_count, 0), 2) as answer_rate_without_short_pct,
  case when direction = 'inbound' then round(100.0 * abandoned_count / nullif(call_count - short_abandoned_count, 0), 2) end as abandon_rate_pct,
  case when direction = 'inbound' then round(100.0 * answered_in_time_count / nullif(call_count - short_abandoned_count - answered_count + answer_wait_count, 0), 2) end as service_level_pct,
  case when direction = 'inbound' then round(100.0 * answered_in_time_count / nullif(answer_wait_count + abandoned_count, 0), 2) end as service_level_answered_abandoned_pct,
  case when direction = 'inbound' then round(100.0 * answered_in_time_count / nullif(answer_wait_count, 0), 2) end as service_level_answered_pct,
  round(answer_wait_seconds::numeric / nullif(answer_wait_count, 0), 1) as answer_wait_avg_seconds,
  round(talk_seconds::numeric / nullif(talk_count, 0), 1) as talk_avg_seconds,
  round(100.0 * transferred_count / nullif(answered_count, 0), 2) as transfer_rate_pct,
  case when direction = 'inbound' then answered_count - answer_wait_count else 0 end as answer_wait_unknown_count,
  call_count - short_abandoned_count as answerable_count
from (
  select r.local_date, r.endpoint, r.direction,
    sum(r.call_count)::bigint as call_count,
    sum(r.answered_count)::bigint as answered_count,
    sum(r.voicemail_count)::bigint as voicemail_count,
    sum(r.abandoned_count)::bigint as abandoned_count,
    sum(r.short_abandoned_count)::bigint as short_abandoned_count,
    sum(r.missed_count)::bigint as missed_count,
    sum(r.unknown_count)::bigint as unknown_count,
    sum(case p.service_level_seconds
      when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
      when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
      end)::bigint as answered_in_time_count,
    sum(r.talk_seconds)::bigint as talk_seconds,
    sum(r.talk_count)::bigint as talk_count,
    sum(r.duration_seconds)::bigint as duration_seconds,
    sum(r.answer_wait_seconds)::bigint as answer_wait_seconds,
    sum(r.answer_wait_count)::bigint as answer_wait_count,
    max(r.longest_wait_seconds) as longest_wait_seconds,
    sum(r.transferred_count)::bigint as transferred_count,
    sum(r.recorded_count)::bigint as recorded_count,
    sum(r.called_back_count)::bigint as called_back_count,
    sum(r.repeated_count)::bigint as repeated_count
  from rollups.call_endpoint_rollup r cross join reporting.params p
  where r.kind = 'number'
  group by r.local_date, r.endpoint, r.direction
) counted;

comment on view reporting.number_daily is 'One row is a local day, number of the account and direction of external calls.';
comment on column reporting.number_daily.local_date is 'Local day.';
comment on column reporting.number_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.number_daily.account_number is 'The account''s number; NULL for calls that report none: join with number_key.';
comment on column reporting.number_daily.number_key is 'The same, unknown where none is reported; see dim_number.';
comment on column reporting.number_daily.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.number_daily.call_count is 'Calls.';
comment on column reporting.number_daily.answered_count is 'Somebody answered.';
comment on column reporting.number_daily.voicemail_count is 'Ended in a mailbox.';
comment on column reporting.number_daily.abandoned_count is 'The caller gave up after more than the short-abandon threshold of params.';
comment on column reporting.number_daily.short_abandoned_count is 'The caller gave up within the short-abandon threshold of params.';
comment on column reporting.number_daily.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up.';
comment on column reporting.number_daily.unknown_count is 'The service reports no outcome.';
comment on column reporting.number_daily.answered_in_time_count is 'Answered within service_level_seconds of params; of inbound calls whose wait is known.';
comment on column reporting.number_daily.talk_seconds is 'Connected time of the answered calls that report it. Time on hold is inside it: the service does not report hold or after-call work.';
comment on column reporting.number_daily.talk_count is 'Answered calls that report their connected time: the n of talk_avg_seconds.';
comment on column reporting.number_daily.duration_seconds is 'Length including ringing, of the calls that report it.';
comment on column reporting.number_daily.answer_wait_seconds is 'Waits of the answered inbound calls together.';
comment on column reporting.number_daily.answer_wait_count is 'Answered inbound calls whose wait is known: the n of answer_wait_avg_seconds.';
comment on column reporting.number_daily.longest_wait_seconds is 'Longest wait, answered or not; NULL = none known.';
comment on column reporting.number_daily.transferred_count is 'Transferred at least once.';
comment on column reporting.number_daily.recorded_count is 'Audio was captured.';
comment on column reporting.number_daily.called_back_count is 'The service names the call that returned it.';
comment on column reporting.number_daily.repeated_count is 'The caller had called before, within the service''s own window.';
comment on column reporting.number_daily.answer_rate_pct is 'Answered, of all calls, in percent.';
comment on column reporting.number_daily.answer_rate_without_short_pct is 'Answered, of all calls but the short-abandoned, in percent.';
comment on column reporting.number_daily.abandon_rate_pct is 'Inbound: abandoned, of all calls but the short-abandoned, in percent.';
comment on column reporting.number_daily.service_level_pct is 'Inbound: answered in time, of all calls but the short-abandoned and the answered of unknown wait, in percent. Mailbox and missed calls count against it.';
comment on column reporting.number_daily.service_level_answered_abandoned_pct is 'Inbound: answered in time, of the answered of known wait and the abandoned, in percent. Another vendor''s formula.';
comment on column reporting.number_daily.service_level_answered_pct is 'Inbound: answered in time, of the answered of known wait, in percent. The kindest formula: who was never answered does not count.';
comment on column reporting.number_daily.answer_wait_avg_seconds is 'Average speed of answer; beside its n, answer_wait_count.';
comment on column reporting.number_daily.talk_avg_seconds is 'Connected time per answered call that reports it; its n is talk_count.';
comment on column reporting.number_daily.transfer_rate_pct is 'Transferred, of the answered, in percent.';
comment on column reporting.number_daily.answer_wait_unknown_count is 'Inbound: answered, but how long the caller waited is not known. Out of the service levels, and counted here; 0 for other directions.';
comment on column reporting.number_daily.answerable_count is 'Calls but those given up within the short-abandon threshold, which nobody could have answered: the whole that answered and abandoned calls are shares of.';
