import { afterAll, beforeAll, expect, test } from 'vitest';
import { callPage } from '../../../src/server/records/call.ts';
import { viewOf } from '../../../src/server/records/view.ts';
import { belongingOf } from '../../../src/warehouse/links.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { openReceiver, settingsFor, type TestReceiver } from '../receiver.ts';
import { readable } from '../seed.ts';
import { scannedBy } from './scans.ts';

/* A call through menu and queue that Ada answered and passed on to Ben, a missed call, and the call that returned it. */

const facts = await factsDatabase();
let world: TestReceiver;
let discreet: TestReceiver;

const [answered, missed, returning, erased] = ['1795475360.1', '1795475361.2', '1795475362.3', '1795475363.4'];
const customer = '15550000001';
const at = (time: string) => `2026-11-02T15:${time}Z`;

beforeAll(async () => {
  const settings = { TIME_ZONE: 'America/New_York', ENCRYPTION_KEY: 'k'.repeat(40) };
  world = await openReceiver(settingsFor(facts.url, settings));
  discreet = await openReceiver(settingsFor(facts.url, { ...settings, PAGES_WORDS: 'hidden' }));
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await facts.query(
    `update warehouse.users set first_name = case user_id when 1 then 'Ada' else 'Ben' end, last_name = 'Berg'`,
  );
  await facts.call({
    ...{ call_id: answered, started_at: at('00:00'), ended_at: at('10:00'), status_code: 2, transferred_count: 1 },
    ...{
      caller_name: '<script>alert(1)',
      caller_number: customer,
      called_name: 'Ada',
      called_number: '201',
      leg_count: 4,
    },
    ...{ duration_seconds: 600, talk_seconds: 500, legs_fetched_at: at('11:00'), recordings_state: 'complete' },
  });
  const leg = (ordinal: number, time: string, from: string[], to: string[], seconds: number[], values = {}) => {
    const [caller_type, caller_name, caller_number] = from;
    const [called_type, called_name, called_number] = to;
    const parties = { caller_type, caller_name, caller_number, called_type, called_name, called_number };
    const [duration_seconds, talk_seconds] = seconds;
    return facts.insert('warehouse.call_legs', {
      ...{ call_id: answered, leg_key: `l${ordinal}`, ordinal, started_at: at(time), direction: 'inbound' },
      ...{ ...parties, duration_seconds, talk_seconds, status: 'answer', ...values },
    });
  };
  const [menu, queue, ada, ben] = [
    ['ivr', 'Main menu', '700'],
    ['queue', 'Service', '601'],
    ['user', 'Ada Berg', '201'],
    ['user', 'Ben Berg', '202'],
  ] as const;
  await leg(1, '00:00', ['external', '', customer], [...menu], [20, 20]);
  await leg(2, '00:20', [...menu], [...queue], [70, 0]);
  await leg(3, '01:00', [...queue], [...ben], [10, 0], { status: 'noanswer' });
  await leg(4, '01:10', [...queue], [...ada], [125, 120], { is_recorded: true });
  await leg(5, '03:15', [...ada], [...ben], [385, 380]);
  await facts.measure(answered);
  for (const [place, part] of ['l4', 'l5', 'l6'].entries()) {
    await facts.insert('warehouse.recordings', {
      ...{ call_id: answered, unique_id: part, started_at: at(`0${place + 1}:10`), duration_seconds: 125 },
      ...{ from_endpoint: '601', to_endpoint: '201' },
    });
  }
  const seal = (part: string) =>
    world.context.sealer?.seal('https://example.org/a.wav', belongingOf('recording', { owner: answered, part }));
  for (const [part, link] of [
    ['l4', seal('l4')],
    ['l5', seal('other')],
  ]) {
    await facts.insert('secrets.links', { kind: 'recording', owner: answered, part, link });
  }
  await facts.insert('warehouse.transcripts', {
    ...{ transcript_id: 7, call_id: answered, leg_unique_id: 'l4', leg_pairing: 'exact', segment_count: 2 },
    ...{ short_summary: 'A broken lamp', bullet_points: ['Send <b>two</b>'], csat_score: 8, csat_note: 'A note on it' },
    ...{ is_action_required: true, action_required_note: 'Call the shop', agent_speaker: 0 },
  });
  await facts.insert('warehouse.transcript_kpis', {
    ...{ transcript_id: 7, ordinal: 1, kpi_name: 'Greeting', kpi_value: 3, kpi_note: 'Said the name' },
  });
  const segments = [
    { start: 0.2, end: 2, speaker: 0, text: 'Lamps, good morning' },
    { start: 61, end: 63, speaker: 1, text: 'My \u202elamp is broken' },
  ];
  await facts.insert('warehouse.transcript_bodies', {
    ...{ transcript_id: 7, segments: JSON.stringify(segments), full_text: 'x', fetch_seq: 1 },
  });
  const other = '15550000002';
  await facts.call({
    ...{ call_id: missed, started_at: '2026-11-03T15:00:00Z', status: 'missed', is_abandoned: true, talk_seconds: 0 },
    ...{ caller_name: 'Pat', caller_number: other, external_number: other, duration_seconds: 40 },
  });
  await facts.call({
    ...{ call_id: returning, started_at: '2026-11-03T16:00:00Z', direction: 'outbound', caller_type: 'user' },
    ...{ caller_number: '201', called_type: 'external', called_number: other, external_number: other },
  });
  const hidden = { is_erased: true, external_number: null, called_name: 'Ada', called_number: '201' };
  await facts.call({ call_id: erased, started_at: '2026-11-04T15:00:00Z', ...hidden });
  await facts.insert('warehouse.contacts', { number: other, name: 'Patricia Lamp', tags: ['vip'] });
  await facts.thread(1, [[at('50:00'), 'in', { body: 'Hello' }]], { number: customer });
  await facts.query('update warehouse.sms_conversations set message_count = 1');
  await facts.query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
       values ('text-back', 'v', 'call_missed', $1, '2026-11-03T15:00:40Z', '15559990000', '${other}', 'live', true, 'matched') returning run_id
     ), send as (
       insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at)
       values ('text-back', '15559990000', '${other}', 'call', $1, now(), 'live', 'We are sorry', 'DENIED', 'gate:answered', now()) returning send_id
     ) insert into ops.rule_actions (run_id, ordinal, kind, state, send_id) select run_id, 1, 'reply', 'done', send_id from run, send`,
    missed,
  );
  await facts.drain();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await discreet[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

const page = async (id: string, receiver = world) => (await receiver.get(`/calls/${id}`)).text();
const main = async (id: string) => readable(await page(id)).replaceAll(/sends\/[\w-]{36}/g, 'sends/ID');

test('the page of a call tells its story, with players and what was said', async () => {
  expect(await main(answered)).toMatchInlineSnapshot(`
    "&lt;script&gt;alert(1) (15550000001) called 15559990000
    Answered by Ada Berg and 1 other after 55 s, connected for 8 min 20 s.
    The call
    Began 2026-11-02 10:00:00
    Ended 2026-11-02 10:10:00
    Length 10 min
    Connected 8 min 20 s
    Waited 55 s
    In menus 20 s
    Telephones rang 15 s
    Direction inbound
    Caller &lt;script&gt;alert(1) (15550000001)
    Called Ada (201)
    Our number 15559990000
    Transfers 1
    What happened
    10:00:00 20 s Menu Main menu (700)
    10:00:20 1 min 10 s Queue Service (601)
    10:01:00 10 s Rang Ben Berg (202) : no answer
    10:01:10 2 min 5 s Answered by Ada Berg (201) after 5 s, talked 2 min recorded
    10:03:15 6 min 25 s Transferred by Ada Berg (201): Answered by Ben Berg (202) after 5 s, talked 6 min 20 s
    Recordings
    10:01:10 Service to Ada Berg, 2 min 5 s [/calls/1795475360.1/recordings/l4]
    10:02:10 Ada Berg to Ben Berg, 2 min 5 s To open it here, set ENCRYPTION_KEY (or API_KEY, where the workers have none) to the value of the workers.
    10:03:10 601 to 201, 2 min 5 s No link to it is stored.
    Transcripts: not read yet.
    Transcript
    A broken lamp
    Send &lt;b&gt;two&lt;/b&gt;
    Agent Ada Berg
    Satisfaction 8 · A note on it
    Somebody should act yes · Call the shop
    Greeting 3 · Said the name
    What was said: 2 utterances
    0:00 Ada Berg Lamps, good morning
    1:01 Other party My \\u202elamp is broken
    Rules
    No rule matched. Why not [/rules/explain/1795475360.1]
    All texts and calls with this number [/search?q=15550000001]"
  `);
  const markup = await page(answered);
  expect(markup).toContain(`<audio controls preload="none" src="/calls/${answered}/recordings/l4"></audio>`);
  expect(markup.match(/<audio/g)).toHaveLength(1);
});

test('where words are hidden, it has neither words nor players', async () => {
  const hidden = await page(answered, discreet);
  const spoken = [
    'A broken lamp',
    'Send &lt;b',
    'A note on it',
    'Call the shop',
    'Said the name',
    'good morning',
    '<audio',
  ];
  for (const each of [...spoken, '<script>alert']) expect(hidden).not.toContain(each);
  expect(hidden).toContain('2 utterances, hidden');
  expect(await page(missed, discreet)).not.toContain('We are sorry');
});

test('a missed call tells what returned it and what a rule did', async () => {
  expect(await main(missed)).toMatchInlineSnapshot(`
    "Patricia Lamp (15550000002) called 15559990000
    Given up by the caller after 40 s.
    The call
    Began 2026-11-03 10:00:00
    Length 40 s
    Connected 0 s
    Waited with menus and ringing 40 s
    Direction inbound
    Caller Patricia Lamp (15550000002)
    Called somebody
    Customer vip
    Our number 15559990000
    What happened
    Its legs were not read yet: npx trunkline resync call 1795475361.2 reads them.
    Return
    Returned yes
    Returned by called back
    At 2026-11-03 11:00:00
    By the call 1795475362.3 [/calls/1795475362.3]
    Spoken with 2026-11-03 11:00:00
    Recordings
    Recordings: not read yet. Transcripts: not read yet.
    Rules
    2026-11-03 10:00:40 Rule text-back [/rules/explain/1795475361.2]: reply: refused by a gate [/sends/ID] (somebody else has answered): We are sorry
    Why, rule by rule [/rules/explain/1795475361.2]
    All texts and calls with this number [/search?q=15550000002]"
  `);
});

test('who was erased is not shown, and a call that is not held says what to do', async () => {
  expect(await main(erased)).toContain('a person who was erased called 15559990000');
  const answer = await world.get('/calls/1795475399.999');
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('resync call 1795475399.999')]);
  expect((await world.get('/calls/x')).status).toBe(400);
});

test('a transcript whose words were removed tells how many there were', async () => {
  const id = '1795475364.5';
  await facts.call({ call_id: id, started_at: at('00:00') });
  await facts.insert('warehouse.transcripts', { transcript_id: 900, call_id: id, segment_count: 4, csat_score: 7 });
  expect(await main(id)).toContain('Satisfaction 7\n4 utterances, removed after RETENTION_DAYS');
});

test.each([answered, missed])('the call %s is read by indexes', async (id) => {
  // A table of one row.
  expect(await scannedBy(facts.db, (tx) => callPage(tx as never, id, viewOf('UTC', true, undefined)))).toEqual([
    'reporting.params',
  ]);
});
