create view reporting.missed_calls as
select
  m.call_id,
  m.started_at,
  m.local_date,
  reporting.date_key(m.local_date) as date_key,
  m.outcome,
  m.reached,
  m.is_business_hours,
  case
    when not m.is_business_hours then 'closed'
    when m.reached = 'mailbox' and v.is_message_left is false then 'mailbox_without_message'
    else m.reached
  end as reason,
  coalesce('queue:' || c.queue, 'huntgroup:' || c.huntgroup) as queue_key,
  v.is_message_left,
  v.message_seconds,
  c.external_number,
  c.caller_name,
  m.account_number,
  coalesce(m.account_number, 'unknown') as number_key,
  coalesce(c.external_number, 'unknown') as contact_key,
  m.wait_seconds,
  m.called_back_call_id,
  m.returned_by,
  m.returned_at,
  m.returned_call_id,
  round(m.return_seconds / 6.0::double precision) / 10 as minutes_to_return,
  round(m.return_business_seconds / 6.0::double precision) / 10 as business_minutes_to_return,
  m.returned_within,
  m.reached_at,
  m.returned_by is null or m.returned_by in ('automatic_text', 'text_by_unknown') as is_unreturned,
  m.texted_at,
  m.rule_texted_at
from rollups.missed_call_returns m
  left join warehouse.calls c on c.call_id = m.call_id
  -- Neither recorded nor of a known length: not known. Of a call that somebody answered, the mailbox tells nothing.
  left join lateral (
    select c.message_seconds, case when c.is_message_left or c.message_seconds is not null then c.is_message_left end as is_message_left
  ) v on m.reached = 'mailbox';

comment on view reporting.missed_calls is 'One row is an inbound external call that nobody answered, mailbox included, and whether a person got in touch afterwards. Calls without a caller''s number cannot be returned and are left out.';
comment on column reporting.missed_calls.call_id is 'The call.';
comment on column reporting.missed_calls.started_at is 'Its start.';
comment on column reporting.missed_calls.local_date is 'Its local day.';
comment on column reporting.missed_calls.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.missed_calls.outcome is 'voicemail, short_abandoned, abandoned or missed.';
comment on column reporting.missed_calls.reached is 'How far the caller came: mailbox, rang, queue, menu or unknown, as in fct_call; person where somebody answered a leg of a call that the service does not call answered.';
comment on column reporting.missed_calls.is_business_hours is 'Whether the schedule of params was open when the call began. Changed hours count after reporting rebuild.';
comment on column reporting.missed_calls.reason is 'Why it was missed, one word a call: closed (outside business hours, whatever else), menu (hung up in the menu), mailbox_without_message, else as reached: mailbox (a message was left, or it is not known), queue, rang, unknown, person.';
comment on column reporting.missed_calls.queue_key is 'The last queue or huntgroup that the call entered; NULL = it is not known to have entered one. See dim_queue.';
comment on column reporting.missed_calls.is_message_left is 'Of a call that came to a mailbox: true when it was recorded, or the mailbox was connected for three seconds or more; NULL = not reported, or no mailbox.';
comment on column reporting.missed_calls.message_seconds is 'How long the mailbox was connected, greeting included where the service counts it; NULL = not reported, or no mailbox.';
comment on column reporting.missed_calls.external_number is 'The caller.';
comment on column reporting.missed_calls.caller_name is 'The caller''s name.';
comment on column reporting.missed_calls.account_number is 'The account''s number that was called.';
comment on column reporting.missed_calls.number_key is 'The same, unknown where none is reported; see dim_number.';
comment on column reporting.missed_calls.contact_key is 'The caller; see dim_contact.';
comment on column reporting.missed_calls.wait_seconds is 'How long the caller waited; NULL = not known.';
comment on column reporting.missed_calls.called_back_call_id is 'The call that returned it, by the service, which reports it for abandoned calls alone.';
comment on column reporting.missed_calls.returned_by is 'called_back: the service says so; else what came first within the callback window: outbound_call to the number, answered or not; caller_got_through: the caller called again and was answered; text: a user texted the number, alone or in a group, and the text was neither blocked nor failed by the carrier''s word. Where none of these came, for information, by the first text: automatic_text: a rule texted it; text_by_unknown: the service names no sender and the ledger did not send it, so it was another integration or a person behind one, and who is unknown. Neither is a return. NULL = nothing of these.';
comment on column reporting.missed_calls.returned_at is 'When it was returned; NULL when not returned, or when the service names a call that is not held.';
comment on column reporting.missed_calls.returned_call_id is 'By which call; NULL for a text.';
comment on column reporting.missed_calls.minutes_to_return is 'From the start of the missed call, by the calendar.';
comment on column reporting.missed_calls.business_minutes_to_return is 'The same, counting business time only. NULL where there is none to measure: the schedule was closed all the way from the call to its return. Medians over it so take calls that came in business hours, were returned in them, or waited through some. 0 where the service names a call that had begun before.';
comment on column reporting.missed_calls.returned_within is '1 hour; 4 hours, both by the calendar; 1 business day: by the end of the next business day, whose days are those of the schedule of params; later. Each call has one of them, the shortest; NULL = not returned, or at an unknown time.';
comment on column reporting.missed_calls.reached_at is 'First call afterwards, within the callback window or named by the service, on which somebody spoke with the caller, whoever called. NULL = none: a call that was returned was then only tried, or answered by text.';
comment on column reporting.missed_calls.is_unreturned is 'No person is known to have got in touch within the window, or not yet. Stays true when only rules or unknown senders texted.';
comment on column reporting.missed_calls.texted_at is 'When the first text of a rule or of an unknown sender went out to the number within the callback window, before or after a person returned the call; NULL = none did. Neither blocked nor failed ones count.';
comment on column reporting.missed_calls.rule_texted_at is 'When the first text of a rule did: the text itself, with the rule''s name, is in fct_sms_message.';
