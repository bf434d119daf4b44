-- One row per call. Its keys join dim_contact, dim_queue and dim_user. Filter on started_at, which is indexed; a filter on local_date
-- reads every call. Totals are in call_hourly.
create view reporting.fct_call as
select
  c.call_id, -- The service's id of the call.
  c.started_at, -- Start.
  c.ended_at, -- End; NULL for a call with no recorded end.
  -- Local day of the start; a call over midnight belongs to the day on which it began.
  (c.started_at at time zone p.time_zone)::date as local_date,
  extract(hour from c.started_at at time zone p.time_zone)::integer as local_hour, -- Local hour of the start.
  c.direction, -- inbound or outbound; NULL = not reported.
  -- Both ends belong to the account: neither has the type external, and the other party (called party of an outbound call, caller of an
  -- inbound one) has an extension or a number of the account. A call that ends in a customer's mailbox is not internal. Also false if the
  -- service does not say.
  coalesce(c.is_internal, false) as is_internal,
  c.status, -- The service's word: answered, missed, voicemail or unknown.
  -- answered, voicemail, short_abandoned, abandoned, missed or unknown. abandoned: the caller of an inbound call gave up; short_abandoned:
  -- within the threshold of params.
  case
    when c.status in ('answered', 'voicemail') then c.status
    when c.direction = 'inbound' and c.is_abandoned then
      case when w.wait_seconds <= p.short_abandon_seconds then 'short_abandoned' else 'abandoned' end
    when c.status = 'missed' then 'missed'
    else 'unknown'
  end as outcome,
  -- The other party's number, as in dim_contact; NULL for internal calls, withheld numbers, and numbers shorter than seven digits.
  c.external_number,
  -- How far the caller got before giving up: for abandoned and short_abandoned calls, and for missed calls that never left the menu
  -- according to the legs. menu: neither a queue nor a telephone; queue: entered a queue or huntgroup (fct_queue_visit says in which one
  -- the caller gave up); ringing: somebody's telephone, without a queue; unknown: not known from the legs. Without legs, the called end
  -- counts (unlike in reached). Add status = 'missed' to the query, because it is indexed.
  c.abandoned_in,
  -- The furthest point that the caller of an inbound call reached: person (somebody answered), mailbox (ended in one), rang (somebody's
  -- telephone; not a leg between two outside parties), queue (or huntgroup), menu (nothing but a menu). From the legs; if none has a type,
  -- from called_type. unknown: neither tells, or there are no legs and the status means neither person nor mailbox. NULL = not inbound.
  -- Equals call.reached of rules.
  case when c.direction = 'inbound' then coalesce(c.reached, 'unknown') end as reached,
  -- Whether nobody answered and the call needs a call-back, as missed in the rules file defines it. missed_calls says whether it was
  -- returned. NULL = not inbound.
  case when c.direction = 'inbound' then coalesce(
    c.is_internal is not true and c.external_number is not null and c.status is distinct from 'answered'
      and (c.status in ('voicemail', 'missed') or c.is_abandoned)
      and coalesce(c.reached, 'unknown') = any(p.missed_reached) and c.duration_seconds >= p.missed_seconds, false)
  end as needs_call_back,
  c.account_number, -- The account's own number on the call; NULL = not reported, and for internal calls. reporting.number_name has its name.
  c.caller_type, -- external, user, queue or huntgroup.
  -- Caller's name; NULL where a placeholder, a place or a number was shown instead: see person_name.
  reporting.person_name(c.caller_name) as caller_name,
  c.caller_number, -- Caller's number or extension, as the service writes it; external_number is the same for every format.
  c.called_type, -- external, user, queue or huntgroup.
  c.called_name, -- Called party's name.
  c.called_number, -- Called party's number or extension.
  -- The queue that the call was answered from, or if nobody answered, the last queue that it entered. NULL = not known to have entered one.
  -- See dim_queue.
  'queue:' || c.queue as queue_key,
  'huntgroup:' || c.huntgroup as huntgroup_key, -- The same for huntgroups; dim_queue has both kinds.
  -- User who answered first: from the legs, or else from the called end. NULL = no user did, or it is unknown who had the extension. See
  -- dim_user; fct_call_agent has everybody else who took part.
  c.answered_user_id as answered_user_key,
  -- User who placed the call; NULL = no user did, or it is unknown who had the extension. See dim_user.
  c.placed_user_id as placed_user_key,
  -- Whether the schedule of its line (account_number) was open when the call started.
  exists (
    select from reporting.open_hours h
    where h.schedule = coalesce((select l.schedule from reporting.schedule_lines l where l.line = c.account_number), '')
      and h.opens_at > c.started_at - interval '2 days' and h.opens_at <= c.started_at and c.started_at < h.closes_at
  ) as is_business_hours,
  c.duration_seconds, -- Length including ringing.
  c.talk_seconds, -- Connected time, including hold time: the service reports neither hold nor after-call work.
  w.wait_seconds, -- How long the caller waited; see wait_basis.
  -- How the wait is known; the service does not report it. legs: from entering the first queue or huntgroup, or else from the start of the
  -- call, until the first answered leg was connected, the mailbox (last leg of a voicemail) answered or the caller gave up; queues entered
  -- later do not count. duration_minus_talk: length minus connected time, for outbound calls, calls without legs (menus and ringing after a
  -- transfer then count as waiting), and calls with a single leg that entered no queue and does not say when the waiting ended. unknown:
  -- neither is possible; wait_seconds is NULL.
  case
    when w.wait_seconds is null then 'unknown'
    when c.legs_wait_seconds is not null then 'legs'
    else 'duration_minus_talk'
  end as wait_basis,
  -- How long telephones rang until the first answer, the mailbox or the end. Inbound: telephones of users, by the legs; 0 if none rang.
  -- Outbound: the other party's; without legs and transfers, length minus connected time. NULL = not known.
  case
    when c.legs_ring_seconds is not null then c.legs_ring_seconds
    when c.direction = 'outbound' and coalesce(c.leg_count, 0) <= 1 and coalesce(c.transferred_count, 0) = 0
      and c.duration_seconds - c.talk_seconds is not null then greatest(c.duration_seconds - c.talk_seconds, 0)
  end as ring_seconds,
  -- How long the caller of an inbound call was in menus, by the legs: until the first leg to a user, queue, huntgroup, mailbox or outside
  -- party began, or the caller gave up. NULL = not known.
  c.menu_seconds,
  c.transferred_count, -- How often it was transferred.
  c.is_recorded, -- Whether audio was recorded. Stays true after the recording is deleted.
  -- When the call, or what its legs tell, last changed in the mirror: for incremental imports. A read that found the same may move it.
  greatest(c.changed_at, c.legs_fetched_at) as changed_at
from warehouse.calls c
  cross join reporting.params p
  -- With several legs, length minus connected time is not the wait: it includes menus and the ringing of transfers.
  cross join lateral (
    select case
        when c.legs_wait_seconds is not null then c.legs_wait_seconds
        when c.direction = 'inbound' and c.leg_count > 0 and (c.leg_count > 1 or c.called_type in ('queue', 'huntgroup')) then null
        when c.duration_seconds - c.talk_seconds is not null then greatest(c.duration_seconds - c.talk_seconds, 0)
      end as wait_seconds
  ) w
where c.deleted_at is null;
