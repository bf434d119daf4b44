create view reporting.call_hourly as
select
  r.local_date,
  reporting.date_key(r.local_date) as date_key,
  extract(isodow from r.local_date)::integer as local_isodow,
  r.local_hour,
  nullif(r.account_number, '') as account_number,
  coalesce(nullif(r.account_number, ''), 'unknown') as number_key,
  r.direction,
  r.is_business_hours,
  r.call_count,
  r.answered_count,
  r.voicemail_count,
  r.abandoned_count,
  r.short_abandoned_count,
  r.missed_count,
  r.unknown_count,
  r.menu_count,
  r.transferred_count,
  r.call_count - r.short_abandoned_count as answerable_count,
  case p.service_level_seconds
    when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
    when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
  end as answered_in_time_count,
  r.answer_wait_count,
  case when r.direction = 'inbound' then r.answered_count - r.answer_wait_count else 0 end as answer_wait_unknown_count,
  r.answer_wait_seconds,
  r.longest_wait_seconds,
  r.talk_count,
  r.talk_seconds
from rollups.call_rollup r
  cross join reporting.params p;

comment on view reporting.call_hourly is 'One row per hour of a local day, number of the account, direction, and whether the business was open when the calls began (so an hour in which it opens or closes can have two rows). Sum it by day, week, hour of the week, number or business hours; for a share, divide sums. An hour without calls has no row: join dim_date. All directions together are all calls of the account. By queue: queue_daily; by user: agent_hourly.';
comment on column reporting.call_hourly.local_date is 'Local day.';
comment on column reporting.call_hourly.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.call_hourly.local_isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.call_hourly.local_hour is 'Local hour. In autumn, the repeated hour includes both; in spring, one hour is missing.';
comment on column reporting.call_hourly.account_number is 'The account''s number; NULL if the call reports none, as internal calls do.';
comment on column reporting.call_hourly.number_key is 'The same, or unknown; see dim_number.';
comment on column reporting.call_hourly.direction is 'internal: both ends belong to the account. External calls: inbound, outbound, or unknown if not reported.';
comment on column reporting.call_hourly.is_business_hours is 'Whether the schedule of the line was open when the calls began. Changed hours take effect after reporting rebuild.';
comment on column reporting.call_hourly.call_count is 'Calls.';
comment on column reporting.call_hourly.answered_count is 'Somebody answered.';
comment on column reporting.call_hourly.voicemail_count is 'Ended in a mailbox.';
comment on column reporting.call_hourly.abandoned_count is 'The caller gave up after more than the short-abandon threshold of params.';
comment on column reporting.call_hourly.short_abandoned_count is 'The caller gave up within the short-abandon threshold of params.';
comment on column reporting.call_hourly.missed_count is 'Missed for another reason: nobody answered, and the caller is not reported to have given up. The service''s own status "missed" includes this, abandoned_count and short_abandoned_count. The view missed_calls also has mailbox calls, but no calls without a caller''s number.';
comment on column reporting.call_hourly.unknown_count is 'The service reports no outcome that is known.';
comment on column reporting.call_hourly.menu_count is 'Of the inbound abandoned and missed calls, those whose caller never left the menu according to the legs. Nobody could have answered them.';
comment on column reporting.call_hourly.transferred_count is 'Transferred at least once.';
comment on column reporting.call_hourly.answerable_count is 'All calls except those given up within the short-abandon threshold, which nobody could have answered. Divide answered and abandoned calls by this.';
comment on column reporting.call_hourly.answered_in_time_count is 'Inbound calls with a known wait, answered within service_level_seconds of params. Service level: divide by (answerable_count - answer_wait_unknown_count). Other vendors divide by (answer_wait_count + abandoned_count), or by answer_wait_count.';
comment on column reporting.call_hourly.answer_wait_count is 'Answered inbound calls whose wait is known: the n of answer_wait_seconds.';
comment on column reporting.call_hourly.answer_wait_unknown_count is 'Answered inbound calls whose wait is unknown; 0 for other directions.';
comment on column reporting.call_hourly.answer_wait_seconds is 'Total wait of the answered inbound calls. Average speed of answer: divide by answer_wait_count.';
comment on column reporting.call_hourly.longest_wait_seconds is 'Longest wait, answered or not; NULL = none known.';
comment on column reporting.call_hourly.talk_count is 'Answered calls that report their connected time: the n of talk_seconds.';
comment on column reporting.call_hourly.talk_seconds is 'Connected time of the answered calls that report it, including hold time: the service reports neither hold nor after-call work.';
