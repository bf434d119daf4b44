-- One row per inbound external call that nobody answered (including mailbox calls), and whether a person got in touch afterwards. Calls
-- without a caller's number cannot be returned and are left out.
create view reporting.missed_calls as
select
  m.call_id, -- The call.
  m.started_at, -- Its start.
  m.local_date, -- Its local day.
  m.outcome, -- voicemail, short_abandoned, abandoned or missed.
  -- How far the caller got: mailbox, rang, queue, menu or unknown, as in fct_call; person if somebody answered a leg although the service
  -- does not call the call answered.
  m.reached,
  m.is_business_hours, -- Whether the schedule of the line was open when the call began.
  -- Why it was missed, one word per call: closed (outside business hours, whatever else), menu (hung up in the menu),
  -- mailbox_without_message, or else the value of reached: mailbox (with a message, or unknown), queue, rang, unknown, person.
  case
    when not m.is_business_hours then 'closed'
    when m.reached = 'mailbox' and v.is_message_left is false then 'mailbox_without_message'
    else m.reached
  end as reason,
  -- The last queue or huntgroup that the call entered; NULL = it is not known to have entered one. See dim_queue.
  coalesce('queue:' || c.queue, 'huntgroup:' || c.huntgroup) as queue_key,
  -- For a call that reached a mailbox: true when it was recorded, or the mailbox was connected for three seconds or more. NULL = not
  -- reported, or no mailbox.
  v.is_message_left,
  -- How long the mailbox was connected, including the greeting if the service counts it; NULL = not reported, or no mailbox.
  v.message_seconds,
  c.external_number, -- The caller, as in dim_contact.
  -- The caller's name; NULL where a placeholder, a place or a number was shown instead: see person_name.
  reporting.person_name(c.caller_name) as caller_name,
  m.account_number, -- The account's number that was called.
  m.wait_seconds, -- How long the caller waited; NULL = not known.
  -- How it was returned. called_back: the service says so. Otherwise what came first within the callback window: outbound_call to the
  -- number, answered or not; caller_got_through: the caller called again and was answered; text: a user texted the number, alone or in a
  -- group, and the text was neither blocked nor failed. Without any of these, for information only (not a return): automatic_text: a rule
  -- texted the number; text_by_unknown: the sender is unknown, an integration or a person using one. NULL = none of these.
  m.returned_by,
  m.returned_at, -- When it was returned; NULL when not returned, or when the service names a call that is not mirrored.
  m.returned_call_id, -- The call that returned it; NULL for a text.
  round(m.return_seconds / 6.0::double precision) / 10 as minutes_to_return, -- From the start of the missed call, by the calendar.
  -- The same, business time only. NULL if the schedule was closed all the time between the call and its return, so medians include only
  -- calls with some business time. 0 if the service names a call that began earlier.
  round(m.return_business_seconds / 6.0::double precision) / 10 as business_minutes_to_return,
  -- The shortest that applies: 1 hour; 4 hours (both by the calendar); 1 business day: by the end of the next business day of the schedule
  -- of the line; later. NULL = not returned, or at an unknown time.
  m.returned_within,
  -- The first later call on which somebody spoke with the caller, whichever side called. It lies within the callback window, or the service
  -- names it. NULL = none: a return was then only an attempt or a text.
  m.reached_at,
  -- No person is known to have got in touch within the window (so far). Texts by rules or unknown senders do not count.
  m.returned_by is null or m.returned_by in ('automatic_text', 'text_by_unknown') as is_unreturned,
  -- Whether the call needs a call-back, as missed in the rules file defines it (how far the caller came, how long the call lasted; see
  -- params). Of these calls, those with the status missed trigger call_missed. A changed file counts at once.
  n.needs_call_back,
  -- Whether the caller waits for a call: it is the newest call of the number that needs a call-back, and it is unreturned. One row per
  -- customer.
  n.needs_call_back and coalesce(m.returned_by in ('automatic_text', 'text_by_unknown'), true) and not exists (
    select from warehouse.calls l join rollups.missed_call_returns r on r.call_id = l.call_id
    where l.external_number = c.external_number and l.started_at >= m.started_at and (l.started_at, l.call_id) > (m.started_at, m.call_id)
      and l.direction = 'inbound' and l.status is distinct from 'answered'
      and r.reached = any(p.missed_reached) and r.duration_seconds >= p.missed_seconds
  ) as is_waiting,
  -- When a rule or an unknown sender first texted the number within the callback window, whether or not a person returned the call; NULL =
  -- never. Blocked and failed texts do not count.
  m.texted_at,
  -- When the row last changed, for incremental imports; needs_call_back, is_waiting and the caller's name do not change it.
  m.changed_at
from rollups.missed_call_returns m
  cross join reporting.params p
  left join warehouse.calls c on c.call_id = m.call_id
  cross join lateral (
    select coalesce(m.reached = any(p.missed_reached) and m.duration_seconds >= p.missed_seconds, false) as needs_call_back
  ) n
  -- NULL if the message was neither recorded nor has a known length, and if somebody answered the call.
  left join lateral (
    select c.message_seconds, case when c.is_message_left or c.message_seconds is not null then c.is_message_left end as is_message_left
  ) v on m.reached = 'mailbox';
