import { provenance } from './directory.ts';

const queues = `array['6001', '6002', '6003', '6004', '6005', '6006', '6007', '6008']`;

/**
 * The calls of one UTC day, `$1`, and what follows from them alone; `$2` says whether they were read whole, with their legs. `offset 0`:
 * each thing is drawn once.
 */
export const callsOfDay = `
insert into warehouse.calls (call_id, started_at, ended_at, direction, status, status_code, caller_type, caller_name, caller_number,
  called_type, called_name, called_number, dialled_number, duration_seconds, talk_seconds, legs_wait_seconds, transferred_count,
  is_abandoned, is_recorded, repeated_count, external_number, account_number, is_internal, reached_person, queue, huntgroup,
  answered_user_id, placed_user_id, reached, is_message_left, abandoned_in, legs_fetched_at, leg_count, recordings_state, transcripts_state, transcripts_fetched_at, transcript_count, ${provenance})
select extract(epoch from started_at)::bigint || '.' || n, started_at, started_at + make_interval(secs => wait + talk),
  case when is_inbound then 'inbound' else 'outbound' end, status, case status when 'answered' then 1 when 'voicemail' then 0 when 'missed' then -1 end,
  case when is_inbound and not is_internal then 'external' else 'user' end, case when is_inbound then 'WIRELESS CALLER' end,
  case when is_inbound and not is_internal then customer else bench.extension(bench.draw(n, 21)) end,
  goal, case goal when 'queue' then 'Queue ' || right(number_called, 1) when 'huntgroup' then 'Front desk' end, number_called,
  case when is_inbound then ours else number_called end, wait + talk, talk,
  case when $2::boolean and is_inbound then greatest(wait - case when goal = 'queue' then 6 else 0 end, 0) end,
  (status = 'answered' and bench.draw(n, 14) < 0.08)::integer, is_abandoned, status = 'answered',
  floor(power(bench.draw(n, 15), 6) * 4), case when not is_internal then customer end, case when not is_internal then ours end,
  is_internal, status = 'answered', case when goal = 'queue' then number_called end, case when goal = 'huntgroup' then number_called end,
  case when status = 'answered' and goal = 'user' then bench.user_of(number_called) end,
  case when not is_inbound or is_internal then bench.user_of(bench.extension(bench.draw(n, 21))) end,
  case when status = 'answered' then 'person' when is_inbound and status = 'voicemail' then 'mailbox' else 'unknown' end, status = 'voicemail',
  case when is_abandoned then case when goal in ('queue', 'huntgroup') then 'queue' else 'ringing' end end,
  case when $2::boolean then started_at end, case when $2::boolean then 2 end,
  case when status = 'answered' then 'complete' else 'none' end, case when status = 'answered' then 'complete' else 'none' end,
  case when $2::boolean then started_at + interval '3 minutes' end, case when $2::boolean then (status = 'answered')::integer end,
  md5(n::text), 'calls.search', 1, least(now(), started_at + interval '3 minutes')
from bench.quarters q
  cross join lateral generate_series(q.first_call, q.last_call) n
  cross join lateral (
    select q.bucket_at + make_interval(secs => floor(bench.draw(n, 1) * 900)) as started_at, bench.draw(n, 2) < 0.7 as is_inbound,
      bench.draw(n, 3) < 0.03 as is_internal, bench.customer(power(bench.draw(n, 4), 1.5)) as customer,
      (18455559000 + floor(power(bench.draw(n, 5), 2) * 40)::integer)::text as ours, bench.draw(n, 6) as course, bench.draw(n, 10) as way
    offset 0
  ) drawn
  cross join lateral (
    select case when not is_inbound then case when course < 0.62 then 'answered' when course < 0.98 then 'missed' else 'unknown' end
        when course < 0.72 then 'answered' when course < 0.81 then 'voicemail' when course < 0.99 then 'missed' else 'unknown' end as status,
      is_inbound and course between 0.81 and 0.94 as is_abandoned,
      case when is_internal then 'user' when not is_inbound then 'external' when way < 0.45 then 'queue' when way < 0.55 then 'huntgroup' else 'user' end as goal
    offset 0
  ) coursed
  cross join lateral (
    select case goal when 'queue' then bench.one_of(${queues}, power(bench.draw(n, 11), 1.3)) when 'huntgroup' then '7001'
        when 'external' then customer else bench.extension(bench.draw(n, 20)) end as number_called,
      floor(-ln(1 - bench.draw(n, 12)) * 19 + 1)::integer as wait,
      case when status in ('answered', 'voicemail') then floor(-ln(1 - bench.draw(n, 13)) * 170 + 5)::integer else 0 end as talk
    offset 0
  ) ended
where q.utc_date = $1::date`;

const ofDay = `c.started_at >= $1::timestamp at time zone 'UTC' and c.started_at < ($1::timestamp + interval '1 day') at time zone 'UTC'`;

/** One leg for the call itself, one for who answered out of a queue or huntgroup, one for each transfer. */
export const legsOfDay = `
insert into warehouse.call_legs (call_id, leg_key, ordinal, unique_id, bridged_from_call_id, started_at, direction, status, caller_type,
  caller_number, called_type, called_name, called_number, duration_seconds, talk_seconds, is_recorded, ${provenance})
select c.call_id, c.call_id || l.ordinal, l.ordinal, c.call_id || l.ordinal, case when l.ordinal = 3 then c.call_id || 1 end, c.started_at, c.direction,
  c.status, case when l.ordinal = 3 then 'user' else c.caller_type end, case when l.ordinal = 3 then l.agent else c.caller_number end,
  case when l.ordinal = 1 then c.called_type else 'user' end, case when l.ordinal = 1 then c.called_name end,
  case l.ordinal when 1 then c.called_number when 2 then l.agent else bench.extension(bench.draw(number, 31)) end, c.duration_seconds,
  case when c.called_type in ('queue', 'huntgroup') and l.ordinal = 1 then 0 else c.talk_seconds / greatest(l.ordinal - 1, 1) end,
  c.is_recorded, c.content_hash, 'calls.get', 1, c.fetched_at
from warehouse.calls c
  cross join lateral (select split_part(c.call_id, '.', 2)::bigint as number) counted
  cross join lateral (
    select ordinal, bench.extension(bench.draw(number, 30)) as agent from generate_series(1, 3) ordinal
    where ordinal = 1 or (ordinal = 2 and c.called_type in ('queue', 'huntgroup')) or (ordinal = 3 and c.transferred_count > 0)
  ) l
where ${ofDay}`;

/** What the legs of these calls say follows from them in `refreshFacts`. */
export const callsWithLegs = `select c.call_id as id from warehouse.calls c where ${ofDay} order by c.started_at`;

const analysed = `from warehouse.calls c cross join lateral (select split_part(c.call_id, '.', 2)::bigint as n) counted
where ${ofDay} and c.status = 'answered' and bench.draw(n, 59) < 0.5`;

/** Half of the answered calls are analysed; a few transcripts find no leg, and some scores are missing. */
export const transcriptsOfDay = `
insert into warehouse.transcripts (transcript_id, call_id, leg_unique_id, leg_pairing, segment_count, short_summary, call_purpose, call_sentiment,
  csat_score, agent_performance_score, is_action_required, action_required_note, is_urgent_action_required, agent_name,
  agent_talk_seconds, customer_talk_seconds, ${provenance})
select n, c.call_id, case when bench.draw(n, 60) < 0.94 then c.call_id || case when c.called_type in ('queue', 'huntgroup') then 2 else 1 end end,
  case when bench.draw(n, 60) < 0.94 then 'exact' else 'none' end, 12, 'The customer asked about an order and was told when it comes.',
  bench.one_of(array['Order', 'Billing', 'Complaint', 'Appointment', 'Support', 'Sales'], power(bench.draw(n, 61), 1.3)),
  case when bench.draw(n, 62) < 0.92 then bench.one_of(array['positive', 'neutral', 'neutral', 'positive', 'negative', 'neutral'], bench.draw(n, 63)) end,
  case when bench.draw(n, 64) < 0.8 then ceil(power(bench.draw(n, 65), 0.5) * 5) end,
  case when bench.draw(n, 66) < 0.85 then ceil(power(bench.draw(n, 67), 0.6) * 10) end,
  bench.draw(n, 68) < 0.12, 'Call back with a date.', bench.draw(n, 68) < 0.02, null,
  c.talk_seconds * 0.5, c.talk_seconds * (0.2 + bench.draw(n, 69) * 0.3), c.content_hash, 'calls.transcripts', 1, c.fetched_at
${analysed}`;

const phrases = `array['I would like a refund for the last order', 'the delivery never came', 'thank you very much', 'let me look that up',
  'your appointment is on Tuesday', 'could you spell the name', 'the invoice is wrong again', 'I will call you back', 'is there a discount',
  'please hold the line', 'the card was declined', 'that sounds good', 'when are you open', 'I want to cancel it', 'it works now', 'who is speaking']`;

export const bodiesOfDay = `
insert into warehouse.transcript_bodies (transcript_id, segments, full_text, fetch_seq)
select n, '[]', (
  select string_agg(bench.one_of(${phrases}, bench.draw(n * 16 + line, 70)), chr(10)) from generate_series(1, 10) line
) || case when bench.draw(n, 71) < 0.01 then ' it is order A' || floor(bench.draw(n, 72) * 5000) when bench.draw(n, 71) < 0.012 then ' it is under warranty' else '' end, 1
${analysed}`;

export const kpisOfDay = `
insert into warehouse.transcript_kpis (transcript_id, ordinal, kpi_name, kpi_value)
select analysed.n, k.ordinal, k.name, case when bench.draw(analysed.n, 80 + k.ordinal) < 0.9 then ceil(bench.draw(analysed.n, 90 + k.ordinal) * 10) end
from (select n ${analysed}) analysed
  cross join (values (1, 'Greeting'), (2, 'Empathy'), (3, 'Solved at once')) k (ordinal, name)`;
