import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readCall } from '../../../src/server/records/read-call.ts';
import { openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { readable } from '../seed.ts';
import { scannedBy } from './scans.ts';

/* A call through menu and queue that Ada answered and passed on to Ben, a missed call, and the call that returned it. */

const facts = await factsDatabase();
let world: TestReceiver;

const answered = '1795475360.101';
const missed = '1795475361.102';
const returning = '1795475362.103';
const customer = '15550000001';

beforeAll(async () => {
  world = await openReceiver(settingsFor(facts.url, { TIME_ZONE: 'America/New_York' }));
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await facts.query(
    `update warehouse.users set first_name = case user_id when 1 then 'Ada' else 'Ben' end, last_name = 'Berg'`,
  );
  await facts.call({
    ...{ call_id: answered, started_at: '2026-11-02T15:00:00Z', ended_at: '2026-11-02T15:10:00Z', status_code: 2 },
    ...{ caller_name: '<script>alert(1)</script>', caller_number: customer, called_name: 'Ada', called_number: '201' },
    ...{ duration_seconds: 600, talk_seconds: 500, legs_fetched_at: '2026-11-02T15:11:00Z', leg_count: 5 },
    ...{ transferred_count: 1, recordings_state: 'complete', transcripts_state: 'complete', is_recorded: true },
  });
  const leg = (ordinal: number, at: string, from: string[], to: string[], seconds: number[], values = {}) => {
    const [caller_type, caller_name, caller_number] = from;
    const [called_type, called_name, called_number] = to;
    const [duration_seconds, talk_seconds] = seconds;
    const parties = { caller_type, caller_name, caller_number, called_type, called_name, called_number };
    return facts.insert('warehouse.call_legs', {
      ...{ call_id: answered, leg_key: `l${ordinal}`, ordinal, started_at: `2026-11-02T${at}Z`, direction: 'inbound' },
      ...{ ...parties, duration_seconds, talk_seconds, status: 'answer', ...values },
    });
  };
  const menu = ['ivr', 'Main menu', '700'];
  const queue = ['queue', 'Service', '601'];
  await leg(1, '15:00:00', ['external', '', customer], menu, [20, 20]);
  await leg(2, '15:00:20', menu, queue, [70, 0]);
  await leg(3, '15:01:00', queue, ['user', 'Ben Berg', '202'], [10, 0], { status: 'noanswer' });
  await leg(4, '15:01:10', queue, ['user', 'Ada Berg', '201'], [125, 120], { is_recorded: true });
  await leg(5, '15:03:15', ['user', 'Ada Berg', '201'], ['user', 'Ben Berg', '202'], [385, 380]);
  await facts.measure(answered);
  await facts.insert('warehouse.recordings', {
    ...{ call_id: answered, unique_id: 'l4', started_at: '2026-11-02T15:01:10Z', duration_seconds: 125 },
    ...{ from_endpoint: '601', to_endpoint: '201' },
  });
  await facts.insert('warehouse.transcripts', {
    ...{ transcript_id: 7, call_id: answered, leg_unique_id: 'l4', leg_pairing: 'exact' },
    short_summary: 'A broken lamp',
    ...{ bullet_points: ['Send <b>two</b>'], call_sentiment: 'calm', csat_score: 8, csat_note: 'A note on it' },
    ...{ is_action_required: true, action_required_note: 'Call the shop', agent_speaker: 0, segment_count: 2 },
  });
  await facts.insert('warehouse.transcript_kpis', {
    ...{ transcript_id: 7, ordinal: 1, kpi_name: 'Greeting', kpi_value: 3, kpi_note: 'Said the name' },
  });
  const said = [
    { start: 0.2, end: 2, speaker: 0, text: 'Lamps, good morning' },
    { start: 61, end: 63, speaker: 1, text: 'My \u202elamp is broken' },
  ];
  await facts.insert('warehouse.transcript_bodies', {
    ...{ transcript_id: 7, segments: JSON.stringify(said), full_text: 'x', fetch_seq: 1 },
  });
  await facts.call({
    ...{ call_id: missed, started_at: '2026-11-03T15:00:00Z', status: 'missed', is_abandoned: true, talk_seconds: 0 },
    ...{ caller_name: 'Pat', caller_number: '15550000002', external_number: '15550000002', duration_seconds: 40 },
  });
  await facts.call({
    ...{ call_id: returning, started_at: '2026-11-03T16:00:00Z', direction: 'outbound', caller_type: 'user' },
    ...{ caller_number: '201', called_type: 'external', called_number: '15550000002', external_number: '15550000002' },
  });
  await facts.insert('warehouse.contacts', { number: '15550000002', name: 'Patricia Lamp', tags: ['vip'] });
  await facts.thread(1, [['2026-11-02T16:00:00Z', 'in', { body: 'Hello' }]], { number: customer });
  await facts.query(`update warehouse.sms_conversations set message_count = 1`);
  await facts.query(
    `insert into ops.deliveries (event_type, body, targets, is_recognized, received_at)
     values ('AccountEndedCalls', 'secret body', array['call ' || $1], true, '2026-11-02T15:10:01Z')`,
    answered,
  );
  await facts.query(
    `insert into ops.sync_targets (kind, key, dirty_version, clean_version, read_at, delivery_id) values ('call', $1, 1, 1, '2026-11-02T15:10:02Z', 1)`,
    answered,
  );
  await facts.query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
       values ('text-back', 'v', 'call_missed', $1, '2026-11-03T15:00:40Z', '15559990000', '15550000002', 'live', true, 'matched') returning run_id
     ), send as (
       insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at)
       values ('text-back', '15559990000', '15550000002', 'call', $1, now(), 'live', 'We are sorry', 'DENIED', 'gate:answered', now()) returning send_id
     ) insert into ops.rule_actions (run_id, ordinal, kind, state, send_id) select run_id, 1, 'reply', 'done', send_id from run, send`,
    missed,
  );
  await facts.drain();
});
beforeEach(() => facts.params({ is_text_shown: false }));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
const main = async (path: string) =>
  readable(await page(path)).replaceAll(/(Held since|last changed) \S+ \S+/g, '$1 MOMENT');

describe('the page of a call', () => {
  const spoken = [
    'A broken lamp',
    'Send &lt;b&gt;two',
    'A note on it',
    'Call the shop',
    'Said the name',
    'good morning',
  ];

  test('tells its story without what was said, and how to show that', async () => {
    expect(await main(`/calls/${answered}`)).toMatchSnapshot();
    const hidden = await page(`/calls/${answered}`);
    for (const each of [...spoken, 'secret body', '<script>alert']) expect(hidden).not.toContain(each);
    expect(hidden).toContain('update reporting.params set is_text_shown = true');
    expect(await page(`/calls/${missed}`)).not.toContain('We are sorry');
  });

  test('has what was said where reports show it', async () => {
    await facts.params({ is_text_shown: true });
    const shown = await main(`/calls/${answered}`);
    for (const each of spoken) expect(shown).toContain(each);
    expect(shown).toMatchSnapshot();
    expect(await page(`/calls/${missed}`)).toContain('We are sorry');
  });

  test('says of a transcript whose words were removed how many utterances it had', async () => {
    await facts.params({ is_text_shown: true });
    const id = '1795400000.900';
    await facts.call({ call_id: id, started_at: '2026-11-02T15:00:00Z' });
    await facts.insert('warehouse.transcripts', { transcript_id: 900, call_id: id, segment_count: 4, csat_score: 7 });
    expect(await main(`/calls/${id}`)).toMatch(/Satisfaction 7.*4 utterances, removed after RETENTION_DAYS/s);
  });

  test('tells what returned a missed call, what a rule did, and which call it returned', async () => {
    expect(await main(`/calls/${missed}`)).toMatchSnapshot();
    expect(await main(`/calls/${returning}`)).toMatchSnapshot();
  });

  test('says what to do for a call that is not held', async () => {
    const answer = await world.get('/calls/1795475399.999');
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('npx trunkline resync call 1795475399.999');
    expect((await world.get('/calls/x')).status).toBe(400);
  });

  test('shows nobody who was erased', async () => {
    const erased = { is_erased: true, external_number: null, called_name: 'Ada', called_number: '201' };
    await facts.call({ call_id: '1795475369.1', started_at: '2026-11-04T15:00:00Z', ...erased });
    expect(await main('/calls/1795475369.1')).toContain('a person who was erased called 15559990000');
  });

  test('is read by indexes', async () => {
    // Tables of one row.
    const small = ['reporting.params'];
    for (const id of [answered, missed]) expect(await scannedBy(facts.db, (db) => readCall(db, id))).toEqual(small);
  });
});
