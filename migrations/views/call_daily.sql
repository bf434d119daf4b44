create view reporting.call_daily as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  direction,
  call_count,
  answered_count,
  voicemail_count,
  abandoned_count,
  short_abandoned_count,
  missed_count,
  unknown_count,
  menu_count,
  answered_in_time_count,
  talk_seconds,
  talk_count,
  duration_seconds,
  answer_wait_seconds,
  answer_wait_count,
  longest_wait_seconds,
  transferred_count,
  recorded_count,
  called_back_count,
  repeated_count,
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
  call_count - short_abandoned_count as answerable_count,
  internal_count
from (
  select local_date, direction,
    coalesce(sum(call_count) filter (where not is_internal), 0)::bigint as call_count,
    coalesce(sum(answered_count) filter (where not is_internal), 0)::bigint as answered_count,
    coalesce(sum(voicemail_count) filter (where not is_internal), 0)::bigint as voicemail_count,
    coalesce(sum(abandoned_count) filter (where not is_internal), 0)::bigint as abandoned_count,
    coalesce(sum(short_abandoned_count) filter (where not is_internal), 0)::bigint as short_abandoned_count,
    coalesce(sum(missed_count) filter (where not is_internal), 0)::bigint as missed_count,
    coalesce(sum(unknown_count) filter (where not is_internal), 0)::bigint as unknown_count,
    coalesce(sum(menu_count) filter (where not is_internal), 0)::bigint as menu_count,
    coalesce(sum(answered_in_time_count) filter (where not is_internal), 0)::bigint as answered_in_time_count,
    coalesce(sum(talk_seconds) filter (where not is_internal), 0)::bigint as talk_seconds,
    coalesce(sum(talk_count) filter (where not is_internal), 0)::bigint as talk_count,
    coalesce(sum(duration_seconds) filter (where not is_internal), 0)::bigint as duration_seconds,
    coalesce(sum(answer_wait_seconds) filter (where not is_internal), 0)::bigint as answer_wait_seconds,
    coalesce(sum(answer_wait_count) filter (where not is_internal), 0)::bigint as answer_wait_count,
    max(longest_wait_seconds) filter (where not is_internal) as longest_wait_seconds,
    coalesce(sum(transferred_count) filter (where not is_internal), 0)::bigint as transferred_count,
    coalesce(sum(recorded_count) filter (where not is_internal), 0)::bigint as recorded_count,
    coalesce(sum(called_back_count) filter (where not is_internal), 0)::bigint as called_back_count,
    coalesce(sum(repeated_count) filter (where not is_internal), 0)::bigint as repeated_count,
    coalesce(sum(call_count) filter (where is_internal), 0)::bigint as internal_count
  from (
    select r.*, case p.service_level_seconds
      when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
      when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
    end as answered_in_time_count
    from rollups.call_interval_rollup r cross join reporting.params p
  ) counted
  group by local_date, direction
) totals;

comment on view reporting.call_daily is 'One row is a local day and direction of external calls, with rates; internal_count stands beside them. A day without calls has no row: join dim_date. Rates do not add up: for a month, divide sums.';
comment on column reporting.call_daily.local_date is 'Local day; a call over midnight belongs to the day on which it began.';
comment on column reporting.call_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.call_daily.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_daily.call_count is 'Calls.';
comment on column reporting.call_daily.answered_count is 'Somebody answered.';
comment on column reporting.call_daily.voicemail_count is 'Ended in a mailbox.';
comment on column reporting.call_daily.abandoned_count is 'The caller gave up after more than the short-abandon threshold of params.';
comment on column reporting.call_daily.short_abandoned_count is 'The caller gave up within the short-abandon threshold of params.';
comment on column reporting.call_daily.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up. The least of four figures of this name: the service''s own status missed is this with abandoned_count and short_abandoned_count; callbacks.missed_count adds voicemail_count and leaves out callers without a number; group_daily has only calls that entered a queue.';
comment on column reporting.call_daily.unknown_count is 'The service reports no outcome.';
comment on column reporting.call_daily.menu_count is 'Of the inbound abandoned and missed ones, those whose caller never left the menu, by the legs: nobody could have answered them.';
comment on column reporting.call_daily.answered_in_time_count is 'Answered within service_level_seconds of params; of inbound calls whose wait is known.';
comment on column reporting.call_daily.talk_seconds is 'Connected time of the answered calls that report it. Time on hold is inside it: the service does not report hold or after-call work.';
comment on column reporting.call_daily.talk_count is 'Answered calls that report their connected time: the n of talk_avg_seconds.';
comment on column reporting.call_daily.duration_seconds is 'Length including ringing, of the calls that report it.';
comment on column reporting.call_daily.answer_wait_seconds is 'Waits of the answered inbound calls together.';
comment on column reporting.call_daily.answer_wait_count is 'Answered inbound calls whose wait is known: the n of answer_wait_avg_seconds.';
comment on column reporting.call_daily.longest_wait_seconds is 'Longest wait, answered or not; NULL = none known.';
comment on column reporting.call_daily.transferred_count is 'Transferred at least once.';
comment on column reporting.call_daily.recorded_count is 'Audio was captured.';
comment on column reporting.call_daily.called_back_count is 'The service names the call that returned it.';
comment on column reporting.call_daily.repeated_count is 'The caller had called before, within the service''s own window.';
comment on column reporting.call_daily.answer_rate_pct is 'Answered, of all calls, in percent.';
comment on column reporting.call_daily.answer_rate_without_short_pct is 'Answered, of all calls but the short-abandoned, in percent.';
comment on column reporting.call_daily.abandon_rate_pct is 'Inbound: abandoned, of all calls but the short-abandoned, in percent.';
comment on column reporting.call_daily.service_level_pct is 'Inbound: answered in time, of all calls but the short-abandoned and the answered of unknown wait, in percent. Mailbox and missed calls count against it.';
comment on column reporting.call_daily.service_level_answered_abandoned_pct is 'Inbound: answered in time, of the answered of known wait and the abandoned, in percent. Another vendor''s formula.';
comment on column reporting.call_daily.service_level_answered_pct is 'Inbound: answered in time, of the answered of known wait, in percent. The kindest formula: who was never answered does not count.';
comment on column reporting.call_daily.answer_wait_avg_seconds is 'Average speed of answer; beside its n, answer_wait_count.';
comment on column reporting.call_daily.talk_avg_seconds is 'Connected time per answered call that reports it; its n is talk_count.';
comment on column reporting.call_daily.transfer_rate_pct is 'Transferred, of the answered, in percent.';
comment on column reporting.call_daily.answer_wait_unknown_count is 'Inbound: answered, but how long the caller waited is not known. Out of the service levels, and counted here; 0 for other directions.';
comment on column reporting.call_daily.answerable_count is 'Calls but those given up within the short-abandon threshold, which nobody could have answered: the whole that answered and abandoned calls are shares of.';
comment on column reporting.call_daily.internal_count is 'Internal calls of the day that the service gives this direction. They are in no other column: with call_count over all directions they are all calls of the account on that day, as its portal counts them. A direction with internal calls alone has a row with a call_count of 0.';
