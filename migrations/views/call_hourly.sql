-- One row per hour of a local day, number of the account, direction, and whether the business was open when the calls began (so an hour in
-- which it opens or closes can have two rows). Sum it by day, week, hour of the week, number or business hours; for a share, divide sums.
-- An hour without calls has no row. All directions together are all calls of the account. By queue: fct_queue_visit; by user:
-- agent_hourly.
create view reporting.call_hourly as
select
  r.local_date, -- Local day.
  r.local_hour, -- Local hour. In autumn, the repeated hour includes both; in spring, one hour is missing.
  -- The account's number; NULL if the call reports none, as internal calls do. reporting.number_name has its name.
  nullif(r.account_number, '') as account_number,
  r.direction, -- internal: both ends belong to the account. External calls: inbound, outbound, or unknown if not reported.
  r.is_business_hours, -- Whether the schedule of the line was open when the calls began.
  r.call_count, -- Calls.
  r.answered_count, -- Somebody answered.
  r.voicemail_count, -- Ended in a mailbox.
  r.abandoned_count, -- The caller gave up after more than the short-abandon threshold of params.
  r.short_abandoned_count, -- The caller gave up within the short-abandon threshold of params.
  -- Missed for another reason: nobody answered, and the caller is not reported to have given up. The service's own status "missed" includes
  -- this, abandoned_count and short_abandoned_count. The view missed_calls also has mailbox calls, but no calls without a caller's number.
  r.missed_count,
  r.unknown_count, -- The service reports no outcome that is known.
  -- Of the inbound abandoned and missed calls, those whose caller never left the menu according to the legs. Nobody could have answered
  -- them.
  r.menu_count,
  r.transferred_count, -- Transferred at least once.
  -- All calls except those given up within the short-abandon threshold, which nobody could have answered. Divide answered and abandoned
  -- calls by this.
  r.call_count - r.short_abandoned_count as answerable_count,
  -- Inbound calls with a known wait, answered within service_level_seconds of params. Service level: divide by (answerable_count -
  -- answer_wait_unknown_count). Other vendors divide by (answer_wait_count + abandoned_count), or by answer_wait_count.
  case p.service_level_seconds
    when 5 then r.ans_le_5 when 10 then r.ans_le_10 when 15 then r.ans_le_15 when 20 then r.ans_le_20
    when 30 then r.ans_le_30 when 45 then r.ans_le_45 when 60 then r.ans_le_60 when 120 then r.ans_le_120
  end as answered_in_time_count,
  r.answer_wait_count, -- Answered inbound calls whose wait is known: the n of answer_wait_seconds.
  -- Answered inbound calls whose wait is unknown; 0 for other directions.
  case when r.direction = 'inbound' then r.answered_count - r.answer_wait_count else 0 end as answer_wait_unknown_count,
  r.answer_wait_seconds, -- Total wait of the answered inbound calls. Average speed of answer: divide by answer_wait_count.
  r.talk_count, -- Answered calls that report their connected time: the n of talk_seconds.
  -- Connected time of the answered calls that report it, including hold time: the service reports neither hold nor after-call work.
  r.talk_seconds
from rollups.call_rollup r
  cross join reporting.params p;
