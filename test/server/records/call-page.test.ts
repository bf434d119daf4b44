import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readCall } from '../../../src/server/records/read-call.ts';
import { openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { wordsOf } from './markup.ts';
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
    ...{
      transcript_id: 7,
      call_id: answered,
      leg_unique_id: 'l4',
      leg_pairing: 'exact',
      short_summary: 'A broken lamp',
    },
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
const words = async (path: string) => wordsOf(await page(path));

describe('the page of a call', () => {
  test('tells who called, how it ended and its way through the account', async () => {
    const text = await words(`/calls/${answered}`);
    expect(text).toContain('Answered by Ada Berg and 1 other after a wait of 55 s, connected for 8 min 20 s.');
    for (const step of [
      '10:00:00 20 s Menu Main menu (700)',
      '10:00:20 1 min 10 s Queue Service (601)',
      '10:01:00 10 s Rang Ben Berg (202) : no answer',
      '10:01:10 2 min 5 s Answered by Ada Berg (201) after 5 s, talked 2 min recorded',
      '10:03:15 6 min 25 s Transferred by Ada Berg (201): Answered by Ben Berg (202) after 5 s, talked 6 min 20 s',
    ]) {
      expect(text).toContain(step);
    }
    expect(text).toContain('Wait 55 s measured from the legs');
    expect(text).toContain('In menus 20 s measured from the legs');
    expect(text).toContain('Queue Service : waited 55 s; answered.');
    expect(text).toContain('Recordings 1, held');
    expect(text).toContain('2026-11-02 10:01:10 601 to 201, 2 min 5 s');
  });

  test('leads to the thread with the number and to what announced the call', async () => {
    const text = await page(`/calls/${answered}`);
    expect(text).toContain('<a href="/threads/15559990000/15550000001">1 text</a>');
    expect(text).toContain('<a href="/deliveries/1">delivery 1</a> (AccountEndedCalls');
    expect(text).not.toContain('secret body');
  });

  test('hides what was said unless reports show it', async () => {
    const spoken = [
      'A broken lamp',
      'Send &lt;b&gt;two',
      'A note on it',
      'Call the shop',
      'Said the name',
      'good morning',
    ];
    const hidden = await page(`/calls/${answered}`);
    for (const each of spoken) expect(hidden).not.toContain(each);
    expect(hidden).toContain('update reporting.params set is_text_shown = true');
    expect(await words(`/calls/${answered}`)).toMatch(
      /Sentiment calm Satisfaction 8 .*Somebody should act yes Greeting 3 .*2 utterances, hidden/,
    );
    expect(await page(`/calls/${missed}`)).not.toContain('We are sorry');

    await facts.params({ is_text_shown: true });
    const shown = await page(`/calls/${answered}`);
    for (const each of spoken) expect(shown).toContain(each);
    expect(await words(`/calls/${answered}`)).toContain(
      '0:00 Ada Berg Lamps, good morning 1:01 Other party My \\u202elamp is broken',
    );
    expect(await page(`/calls/${missed}`)).toContain('We are sorry');
  });

  test('says of a transcript whose words were removed how many utterances it had', async () => {
    await facts.params({ is_text_shown: true });
    const id = '1795400000.900';
    await facts.call({ call_id: id, started_at: '2026-11-02T15:00:00Z' });
    await facts.insert('warehouse.transcripts', { transcript_id: 900, call_id: id, segment_count: 4, csat_score: 7 });
    expect(await words(`/calls/${id}`)).toMatch(/Satisfaction 7 .*4 utterances, removed after RETENTION_DAYS/);
  });

  test('tells what returned a missed call, and what a rule did', async () => {
    const text = await page(`/calls/${missed}`);
    expect(text).toMatch(
      /Returned <time[^>]*>2026-11-03 11:00:00<\/time>: called back \(<a href="\/calls\/1795475362.103">/,
    );
    expect(await words(`/calls/${missed}`)).toContain('The caller gave up while telephones rang, after 40 s.');
    expect(await words(`/calls/${missed}`)).toContain('Caller Patricia Lamp (15550000002)');
    expect(await words(`/calls/${missed}`)).toContain('Customer vip');
    expect(await words(`/calls/${returning}`)).toContain('Called Patricia Lamp (15550000002)');
    expect(await words(`/calls/${missed}`)).toContain('Wait 40 s length less connected time');
    expect(await words(`/calls/${missed}`)).toContain('Rule text-back : reply not sent (somebody else has answered)');
    expect(await page(`/calls/${returning}`)).toContain(
      `This call returned <a href="/calls/${missed}">the missed call</a>`,
    );
  });

  test('says what to do for a call that is not held', async () => {
    const answer = await world.get('/calls/1795475399.999');
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('npx trunkline resync call 1795475399.999');
    expect((await world.get('/calls/x')).status).toBe(400);
  });

  test('shows nobody who was erased', async () => {
    await facts.call({
      ...{ call_id: '1795475369.1', started_at: '2026-11-04T15:00:00Z', is_erased: true, external_number: null },
      ...{ called_name: 'Ada', called_number: '201' },
    });
    expect(await words('/calls/1795475369.1')).toContain('a person who was erased called 15559990000');
  });

  test('is read by indexes', async () => {
    // Tables of one row.
    const small = ['reporting.params'];
    expect(await scannedBy(facts.db, (db) => readCall(db, answered))).toEqual(small);
    expect(await scannedBy(facts.db, (db) => readCall(db, missed))).toEqual(small);
  });
});
