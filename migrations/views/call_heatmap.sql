create view reporting.call_heatmap as
select
  local_date,
  reporting.date_key(local_date) as date_key,
  extract(isodow from local_date)::integer as isodow,
  local_hour,
  direction,
  is_business_hours,
  sum(call_count)::bigint as call_count,
  sum(answered_count)::bigint as answered_count,
  sum(voicemail_count)::bigint as voicemail_count,
  sum(abandoned_count)::bigint as abandoned_count,
  sum(short_abandoned_count)::bigint as short_abandoned_count,
  sum(missed_count)::bigint as missed_count,
  sum(unknown_count)::bigint as unknown_count,
  sum(menu_count)::bigint as menu_count,
  sum(answered_in_time_count)::bigint as answered_in_time_count,
  sum(talk_seconds)::bigint as talk_seconds,
  sum(call_count)::bigint - sum(short_abandoned_count)::bigint as answerable_count,
  case when direction = 'inbound' then sum(answered_count)::bigint - sum(answer_wait_count)::bigint else 0 end as answer_wait_unknown_count
from (
  select r.*, case p.service_level_seconds
    when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
    when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
  end as answered_in_time_count
  from rollups.call_interval_rollup r cross join reporting.params p
  where not r.is_internal
) counted
group by local_date, local_hour, direction, is_business_hours;

comment on view reporting.call_heatmap is 'One row is an hour of a local day, a direction of external calls and whether the business was open when they began (an hour in which it opens or closes can have two rows): sum over days for a heatmap of the week, or by is_business_hours. An hour without calls has no row. By number: number_hourly; by queue: fct_queue_visit; by agent: agent_hourly.';
comment on column reporting.call_heatmap.local_date is 'Local day.';
comment on column reporting.call_heatmap.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.call_heatmap.isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.call_heatmap.local_hour is 'Local hour. On the autumn day of the time change the repeated hour holds two, on the spring day one hour is missing.';
comment on column reporting.call_heatmap.direction is 'inbound, outbound, or unknown where none is reported.';
comment on column reporting.call_heatmap.is_business_hours is 'Whether the schedule of params was open when the calls began. Changed hours count after reporting rebuild.';
comment on column reporting.call_heatmap.call_count is 'Calls.';
comment on column reporting.call_heatmap.answered_count is 'Somebody answered.';
comment on column reporting.call_heatmap.voicemail_count is 'Ended in a mailbox.';
comment on column reporting.call_heatmap.abandoned_count is 'The caller gave up after more than the short-abandon threshold of params.';
comment on column reporting.call_heatmap.short_abandoned_count is 'The caller gave up within the short-abandon threshold of params.';
comment on column reporting.call_heatmap.missed_count is 'Missed otherwise: nobody answered, and the caller is not reported to have given up.';
comment on column reporting.call_heatmap.unknown_count is 'The service reports no outcome that is known.';
comment on column reporting.call_heatmap.menu_count is 'Of the inbound abandoned and missed ones, those whose caller never left the menu, by the legs: nobody could have answered them.';
comment on column reporting.call_heatmap.answered_in_time_count is 'Answered within service_level_seconds of params; of inbound calls whose wait is known.';
comment on column reporting.call_heatmap.talk_seconds is 'Connected time of the answered calls that report it. Time on hold is inside it: the service does not report hold or after-call work.';
comment on column reporting.call_heatmap.answerable_count is 'Calls but those given up within the short-abandon threshold, which nobody could have answered: the whole that answered and abandoned calls are shares of.';
comment on column reporting.call_heatmap.answer_wait_unknown_count is 'Inbound: answered, but how long the caller waited is not known. Out of the service level: answered_in_time_count of answerable_count less these. 0 for other directions.';
