create view reporting.fct_call as
select
  c.call_id,
  c.started_at,
  c.ended_at,
  c.started_at at time zone p.time_zone as started_local,
  (c.started_at at time zone p.time_zone)::date as local_date,
  extract(hour from c.started_at at time zone p.time_zone)::integer as local_hour,
  extract(isodow from c.started_at at time zone p.time_zone)::integer as local_isodow,
  c.direction,
  coalesce(c.is_internal, false) as is_internal,
  c.status,
  case when c.status_code >= 1 then c.status_code end as answered_by_count,
  case
    when c.status in ('answered', 'voicemail') then c.status
    when c.direction = 'inbound' and c.is_abandoned then
      case when w.wait_seconds <= p.short_abandon_seconds then 'short_abandoned' else 'abandoned' end
    when c.status = 'missed' then 'missed'
    else 'unknown'
  end as outcome,
  c.external_number,
  c.abandoned_in,
  case when c.direction = 'inbound' then coalesce(c.reached, 'unknown') end as reached,
  c.account_number,
  c.dialled_number,
  c.caller_type,
  c.caller_name,
  c.caller_number,
  c.called_type,
  c.called_name,
  c.called_number,
  reporting.date_key((c.started_at at time zone p.time_zone)::date) as date_key,
  coalesce(c.account_number, 'unknown') as number_key,
  coalesce(c.external_number, 'unknown') as contact_key,
  'queue:' || c.queue as queue_key,
  'huntgroup:' || c.huntgroup as huntgroup_key,
  c.answered_user_id as answered_user_key,
  c.placed_user_id as placed_user_key,
  exists (
    select from reporting.schedules s
      join reporting.business_hours h on h.schedule_id = s.schedule_id
        and h.isodow = extract(isodow from c.started_at at time zone s.time_zone)
        and h.opens <= (c.started_at at time zone s.time_zone)::time and (c.started_at at time zone s.time_zone)::time < h.closes
    where s.schedule_id = p.schedule_id
      and not exists (select from reporting.holidays x where x.schedule_id = s.schedule_id and x.holiday_date = (c.started_at at time zone s.time_zone)::date)
  ) as is_business_hours,
  c.duration_seconds,
  c.talk_seconds,
  w.wait_seconds,
  case
    when w.wait_seconds is null then 'unknown'
    when c.legs_wait_seconds is not null then 'legs'
    else 'duration_minus_talk'
  end as wait_basis,
  case when c.status = 'answered' and c.direction = 'inbound' then w.wait_seconds end as answer_wait_seconds,
  r.ring_seconds,
  case
    when r.ring_seconds is null then 'unknown'
    when c.legs_ring_seconds is not null then 'legs'
    else 'duration_minus_talk'
  end as ring_basis,
  c.menu_seconds,
  case when c.menu_seconds is null then 'unknown' else 'legs' end as menu_basis,
  c.leg_count,
  c.transferred_count,
  c.is_abandoned,
  c.is_recorded,
  c.called_back_call_id,
  c.repeated_count,
  case c.status when 'answered' then true when 'missed' then false when 'voicemail' then false end as reached_person,
  c.legs_fetched_at is not null as has_legs,
  c.recording_count,
  c.transcript_count
from warehouse.calls c
  cross join reporting.params p
  -- Length less connected time is no wait where several legs are held: it has the ringing of transfers and the menu in it. Of the table's
  -- column, 0 is unknown where the service reports only one of the two that it is the difference of.
  cross join lateral (
    select case
        when c.legs_wait_seconds is not null then c.legs_wait_seconds
        when c.direction = 'inbound' and c.leg_count > 0 and (c.leg_count > 1 or c.called_type in ('queue', 'huntgroup')) then null
        when c.duration_seconds - c.talk_seconds is not null then c.wait_seconds
      end as wait_seconds
  ) w
  cross join lateral (
    select case
        when c.legs_ring_seconds is not null then c.legs_ring_seconds
        when c.direction = 'outbound' and coalesce(c.leg_count, 0) <= 1 and coalesce(c.transferred_count, 0) = 0
          and c.duration_seconds - c.talk_seconds is not null then c.wait_seconds
      end as ring_seconds
  ) r
where c.deleted_at is null;

comment on view reporting.fct_call is 'One row is a call. Its keys join dim_date, dim_number, dim_contact, dim_queue and dim_user. Filter on started_at, which is indexed: a filter on local_date reads every call; totals stand in call_hourly.';
comment on column reporting.fct_call.call_id is 'The service''s id of the call.';
comment on column reporting.fct_call.started_at is 'Start.';
comment on column reporting.fct_call.ended_at is 'End; NULL for a call with no recorded end.';
comment on column reporting.fct_call.started_local is 'Start by the clock on the wall.';
comment on column reporting.fct_call.local_date is 'Local day of the start; a call over midnight belongs to the day on which it began.';
comment on column reporting.fct_call.local_hour is 'Local hour of the start.';
comment on column reporting.fct_call.local_isodow is 'Local day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.fct_call.direction is 'inbound or outbound; NULL = not reported.';
comment on column reporting.fct_call.is_internal is 'Both ends are the account''s own: neither end is external by its type, and the other party (called of an outbound call, caller of an inbound one) has an extension, or a number of the account. A call that ends in a customer''s mailbox is not internal. False too where the service does not say.';
comment on column reporting.fct_call.status is 'The service''s word: answered, missed, voicemail or unknown.';
comment on column reporting.fct_call.answered_by_count is 'How many people answered; NULL when none did.';
comment on column reporting.fct_call.outcome is 'answered, voicemail, short_abandoned, abandoned, missed or unknown. Abandoned: the caller of an inbound call gave up; short_abandoned: within the threshold of params.';
comment on column reporting.fct_call.abandoned_in is 'Of an abandoned or short_abandoned call, and of a missed one that by its legs never left the menu, how far the caller had come. menu: neither a queue nor a telephone, by the legs; queue: had entered a queue or huntgroup, and fct_queue_visit says in which the caller gave up; ringing: somebody''s telephone, without a queue; unknown: legs do not say. Where no legs are held, the called end counts, which reached leaves out. Add status = ''missed'' to the query: it is indexed.';
comment on column reporting.fct_call.reached is 'Of an inbound call, how far the caller came, the furthest of: person (somebody answered), mailbox (ended in one), rang (somebody''s telephone; a leg from outside to outside is none), queue (or huntgroup), menu (nothing but a menu). By the legs; where none of them says a type, by called_type. unknown: neither says, or no legs are held and the status tells of no person and no mailbox. NULL = not inbound. The same as call.reached of rules.';
comment on column reporting.fct_call.external_number is 'The other party''s number; NULL on internal calls, and where none of seven digits or more is shown: withheld numbers, short ones.';
comment on column reporting.fct_call.account_number is 'The account''s own number on the call.';
comment on column reporting.fct_call.dialled_number is 'What was dialled.';
comment on column reporting.fct_call.caller_type is 'external, user, queue or huntgroup.';
comment on column reporting.fct_call.caller_name is 'Caller''s name.';
comment on column reporting.fct_call.caller_number is 'Caller''s number or extension, as the service writes it; contact_key is the same for every spelling.';
comment on column reporting.fct_call.called_type is 'external, user, queue or huntgroup.';
comment on column reporting.fct_call.called_name is 'Called party''s name.';
comment on column reporting.fct_call.called_number is 'Called party''s number or extension.';
comment on column reporting.fct_call.date_key is 'local_date as yyyymmdd; see dim_date.';
comment on column reporting.fct_call.number_key is 'The account''s number, unknown where none is reported and for internal calls; see dim_number.';
comment on column reporting.fct_call.contact_key is 'The other party, unknown where no number is shown and for internal calls; see dim_contact.';
comment on column reporting.fct_call.queue_key is 'The queue that the call was answered from; where nobody answered, the last that it entered. NULL = it is not known to have entered one. See dim_queue.';
comment on column reporting.fct_call.huntgroup_key is 'The same of huntgroups; see dim_queue, which has both kinds.';
comment on column reporting.fct_call.answered_user_key is 'User who answered first, by the legs, else by the called end. NULL = no user did, or nobody known had the extension. See dim_user; who else took part is in fct_call_agent.';
comment on column reporting.fct_call.placed_user_key is 'User who placed the call; NULL = no user did, or nobody known had the extension. See dim_user.';
comment on column reporting.fct_call.is_business_hours is 'Whether the schedule of params was open when the call started.';
comment on column reporting.fct_call.duration_seconds is 'Length including ringing.';
comment on column reporting.fct_call.talk_seconds is 'Connected time. Time on hold is inside it: the service reports neither hold nor after-call work.';
comment on column reporting.fct_call.wait_seconds is 'How long the caller waited, as wait_basis says.';
comment on column reporting.fct_call.wait_basis is 'legs: from the entry of the first queue or huntgroup, else from the start of the call, until the first answered leg was connected, the mailbox (the last leg of a voicemail) answered or the caller gave up. A queue that was entered after that does not count. duration_minus_talk, where no legs are held, or a single one to no queue that does not say when the waiting ended (it reports no times, or the call no outcome), and for outbound calls: length less connected time; where no legs are held, menus, and ringing after a transfer, count as waiting. unknown: neither says; wait_seconds is NULL. The service reports no wait itself.';
comment on column reporting.fct_call.answer_wait_seconds is 'The wait of an answered inbound call (speed of answer).';
comment on column reporting.fct_call.ring_seconds is 'How long telephones rang until the first answer, the mailbox or the end: of an inbound call those of users, of an outbound one the other party''s; as ring_basis says.';
comment on column reporting.fct_call.ring_basis is 'legs: as they say; 0 where the telephone of no user rang. duration_minus_talk: an outbound call that was not transferred, of which at most one leg is held: length less connected time. unknown: neither says; ring_seconds is NULL.';
comment on column reporting.fct_call.menu_seconds is 'How long the caller of an inbound call was in menus: until the first leg to a user, queue, huntgroup, mailbox or outside party began, or the caller gave up; as menu_basis says.';
comment on column reporting.fct_call.menu_basis is 'legs, or unknown: no legs held, or they do not say; menu_seconds is NULL.';
comment on column reporting.fct_call.leg_count is 'Legs held; NULL = never read.';
comment on column reporting.fct_call.transferred_count is 'How often it was transferred.';
comment on column reporting.fct_call.is_abandoned is 'The service says: the caller hung up before anyone answered.';
comment on column reporting.fct_call.is_recorded is 'Audio was captured; stays true after the recording is deleted.';
comment on column reporting.fct_call.called_back_call_id is 'The call that returned this abandoned one, by the service.';
comment on column reporting.fct_call.repeated_count is 'Earlier calls of the same caller within the service''s own window, whose length it does not say.';
comment on column reporting.fct_call.reached_person is 'A person answered; NULL = the status does not say.';
comment on column reporting.fct_call.has_legs is 'Whether the call was read whole: only then its way through queues and users is known.';
comment on column reporting.fct_call.recording_count is 'Recordings held; NULL = never read.';
comment on column reporting.fct_call.transcript_count is 'Transcripts held; NULL = never read.';
