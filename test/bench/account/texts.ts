import { provenance } from './directory.ts';

const phrases = `array['Hi, is my order ready?', 'Yes, you can pick it up today.', 'Thanks!', 'Can we move the appointment to Friday?', 'Sure, 10 am works.',
  'The invoice seems wrong, I want a refund.', 'We are looking into it.', 'Please call me back.', 'Running ten minutes late', 'What is the address?',
  'Your delivery is on its way.', 'Ok', 'How much would that be?', 'That is 40 dollars.', 'Great, see you then']`;

/** The texts of the sessions that begin on one UTC day, `$1`, among `$2` conversations. Most are answered by people. */
export const textsOfDay = `
insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, from_number, to_number, body, media_count, sent_at,
  is_read, sent_by, delivery_status, delivery_error, delivery_at, is_scheduled, is_blocked, opt_out_verdict, ${provenance})
select conversation, id, line, number, case when is_in then 'in' else 'out' end, case when is_in then number else line end,
  case when is_in then line else number end,
  case when is_in and bench.draw(id, 110) < 0.002 then bench.one_of(array['STOP', 'START', 'stop'], bench.draw(id, 111)) else bench.one_of(${phrases}, bench.draw(id, 112))
    || case when bench.draw(id, 118) < 0.02 then ' It is order A' || floor(bench.draw(id, 119) * 5000) when bench.draw(id, 118) < 0.021 then ' Is it under warranty?' else '' end end,
  (bench.draw(id, 113) < 0.06)::integer, sent_at, true,
  case when not is_in and bench.draw(id, 114) < 0.75 then 1 + floor(power(bench.draw(conversation, 115), 1.4) * 60) end,
  case when not is_in then case when receipt < 0.88 then 'delivered' when receipt < 0.91 then 'undelivered' when receipt < 0.95 then 'sent' when receipt < 0.952 then 'gw-310' end end,
  case when not is_in and receipt between 0.88 and 0.91 then bench.one_of(array['30003 unreachable', '30005 unknown', '30006 landline', '30007 filtered'], bench.draw(id, 117)) end,
  case when not is_in and receipt < 0.952 then sent_at + interval '4 seconds' end,
  false, not is_in and receipt > 0.996,
  case when is_in and bench.draw(id, 110) < 0.002 then bench.one_of(array['opt_out', 'opt_in', 'opt_out'], bench.draw(id, 111)) when is_in then 'none' end,
  md5(id::text), 'conversations.read', 1, least(now(), sent_at + interval '2 seconds')
from bench.quarters q
  cross join lateral generate_series(q.first_session, q.last_session) session
  cross join lateral (
    select 1 + floor(power(bench.draw(session, 100), 1.4) * $2::integer)::bigint as conversation, 1 + floor(bench.draw(session, 101) * 7)::integer as length,
      q.bucket_at + make_interval(secs => bench.draw(session, 102) * 900) as began_at, bench.draw(session, 103) < 0.8 as is_asked,
      30 + power(bench.draw(session, 104), 3) * 5000 as pace, 1 + (bench.draw(session, 105) < 0.3)::integer as run
    offset 0
  ) drawn
  cross join lateral generate_series(0, length - 1) place
  cross join lateral (
    select session * 8 + place as id, (18455559000 + floor(power(bench.draw(conversation, 106), 1.6) * 12)::integer)::text as line,
      bench.customer(bench.draw(conversation, 107)) as number, began_at + make_interval(secs => place * pace) as sent_at,
      ((place / run) % 2 = 0) = is_asked as is_in, bench.draw(session * 8 + place, 116) as receipt
    offset 0
  ) placed
where q.utc_date = $1::date and sent_at < now()`;

/** What the mirror keeps of each conversation beside its texts; of most it never learned who it is assigned to. */
export const conversations = `
insert into warehouse.sms_conversations (conversation_id, line, number, participants_key, participants, first_message_at, last_message_at,
  last_inbound_at, last_outbound_at, last_direction, message_count, is_resolved, resolved_at, resolved_observed_at, resolved_observed_via,
  assigned_user_id, is_assignment_known, assigned_observed_at, is_thread_complete)
overriding system value
select conversation_id, min(line), min(number), case when conversation_id % 50 = 0 or is_twin then conversation_id::text else '' end, '{}',
  min(sent_at), max(sent_at), max(sent_at) filter (where direction = 'in'), max(sent_at) filter (where direction = 'out'),
  (array_agg(direction order by sent_at desc, message_id desc))[1], count(*),
  case when bench.draw(conversation_id, 120) < 0.3 then bench.draw(conversation_id, 121) < 0.8 end,
  case when bench.draw(conversation_id, 120) < 0.3 then max(sent_at) end, case when bench.draw(conversation_id, 120) < 0.3 then max(sent_at) end, 'conversations.resolve',
  case when bench.draw(conversation_id, 122) < 0.4 then 1 + floor(bench.draw(conversation_id, 123) * 60) end,
  bench.draw(conversation_id, 122) < 0.4, case when bench.draw(conversation_id, 122) < 0.4 then max(sent_at) end, true
from (
  select m.*, min(conversation_id) over (partition by line, number) <> conversation_id as is_twin from warehouse.sms_messages m
) m
group by conversation_id, is_twin`;

/** What rules sent, by the ledger. */
export const sends = `
insert into ops.sends (rule, rule_version, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at, message_type, units,
  settled_micros, budget_date, message_id, planned_at, settled_at, linked_at)
select bench.one_of(array['after hours', 'missed call', 'thanks'], bench.draw(message_id, 130)), '1', line, number, 'message', message_id::text, sent_at,
  'live', '', 'SENT', sent_at + interval '1 hour', 'sms', 1 + (bench.draw(message_id, 131) < 0.2)::integer,
  8000 * (1 + (bench.draw(message_id, 131) < 0.2)::integer), (sent_at at time zone 'UTC')::date, message_id, sent_at, sent_at, sent_at
from warehouse.sms_messages where direction = 'out' and sent_by is null and bench.draw(message_id, 132) < 0.5`;
