import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readThread } from '../../../src/server/records/read-thread.ts';
import { openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { readable } from '../seed.ts';
import { scannedBy } from './scans.ts';

/* A thread with texts of every sender, calls between, rules and changes of state; one of 120 texts; and a group. */

const facts = await factsDatabase();
let world: TestReceiver;

const line = '15559990000';
const [number, longNumber, member] = ['15551000001', '15551000002', '15551000003'];
const [thread, long] = [`/threads/${line}/${number}`, `/threads/${line}/${longNumber}`];
const call = '1795475360.101';
const minute = (at: number) => new Date(Date.UTC(2026, 10, 2, 15, at)).toISOString();

beforeAll(async () => {
  world = await openReceiver(settingsFor(facts.url, { TIME_ZONE: 'America/New_York' }));
  await facts.user(1, ['201']);
  await facts.thread(
    1,
    [
      [minute(0), 'in', { body: 'Where is my <b>lamp</b>?\nIt was \u202edue' }],
      [minute(1), 'out', { body: 'We are closed', delivery_status: 'DELIVRD', sent_by: 1 }],
      [
        minute(2),
        'out',
        { body: 'It is on its way', sent_by: 1, delivery_status: 'UNDELIV', delivery_error: 'absent' },
      ],
      [minute(3), 'out', { body: 'From elsewhere', media_count: 2 }],
      [minute(9), 'in', { body: 'STOP' }],
      [minute(10), 'out', { body: 'See you soon', sent_by: 1, is_scheduled: true, scheduled_at: minute(60) }],
      [minute(11), 'in', { body: 'Taken back', deleted_at: minute(12) }],
    ],
    { number },
  );
  await facts.call({ call_id: call, started_at: minute(5), external_number: number, account_number: '15559990001' });
  await facts.query(
    `insert into warehouse.sms_conversation_events (conversation_id, axis, is_resolved, actor, observed_at)
     values (1, 'resolved', true, 'rule thanks', $1)`,
    minute(4),
  );
  await facts.insert('warehouse.contacts', {
    ...{ number: longNumber, name: 'Kim <b>', company: 'Lamps', owner: 'Sam', language: 'es', tags: ['gold', 'vip'] },
  });
  await facts.query(
    `update warehouse.sms_conversations set is_resolved = true, resolved_observed_at = $1, message_count = 6 where conversation_id = 1`,
    minute(4),
  );
  await facts.query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
       values ('closed', 'v', 'message_received', '1/1000', $3, $1, $2, 'live', true, 'matched'),
         ('stopped', 'v', 'message_received', '1/1004', $4, $1, $2, 'live', true, 'matched'),
         ('called', 'v', 'call_ended', $5, $6, $1, $2, 'dry-run', true, 'matched') returning run_id, rule
     ), send as (
       insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at, message_id)
       values ('closed', $1, $2, 'message', '1000', now(), 'live', 'We are closed', 'SENT', null, now(), 1001),
         ('stopped', $1, $2, 'message', '1004', now(), 'live', 'Are you sure?', 'DENIED', 'gate:opted_out', now(), null)
       returning send_id, rule
     ), settled as (
       insert into ops.rule_actions (run_id, ordinal, kind, state, send_id)
       select run_id, 1, 'reply', 'done', send_id from run join send using (rule)
     ) insert into ops.rule_actions (run_id, ordinal, kind, state) select run_id, 1, 'resolve', 'dry_run' from run where rule = 'called'`,
    ...[line, number, minute(0), minute(9), call, minute(6)],
  );
  await facts.thread(
    2,
    Array.from(
      { length: 120 },
      (_, at) => [minute(at), at % 2 === 0 ? 'in' : 'out', { body: `Text no. ${at}.` }] as const,
    ),
    { number: longNumber },
  );
  await facts.thread(
    3,
    [[minute(0), 'in', { body: 'Hi all', from_number: member, group_participants: [number, member] }]],
    { number, participants_key: `${number},${member}` },
  );
  await facts.query(
    `update warehouse.sms_conversations set participants = array[$1, $2] where conversation_id = 3`,
    number,
    member,
  );
});
beforeEach(() => facts.params({ is_text_shown: true }));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
const main = async (path: string) =>
  readable(await page(path)).replaceAll(/(Held since|last changed) \S+ \S+/g, '$1 MOMENT');
const numbersOf = (markup: string) => Array.from(markup.matchAll(/Text no\. (\d+)\./g), ([, at]) => Number(at));
const upTo = (first: number, end: number) => Array.from({ length: end - first }, (_, at) => first + at);

describe('the page of a thread', () => {
  test('tells the texts, their senders, calls, rules and state in the order of time', async () => {
    const text = await main(thread);
    expect(text).toMatchSnapshot();
    expect(text).not.toContain('Taken back');
  });

  test('hides what was written unless reports show it', async () => {
    await facts.params({ is_text_shown: false });
    const hidden = await page(thread);
    for (const each of ['Where is my', 'We are closed', 'STOP', 'Are you sure', 'See you'])
      expect(hidden).not.toContain(each);
    expect(hidden).toContain('13 characters, hidden');
    expect(hidden).toContain('update reporting.params set is_text_shown = true');
  });

  test('names the customer of the imported list', async () => {
    const text = await main(long);
    expect(text).toContain('Texts with Kim &lt;b&gt; (15551000002)');
    expect(text).toContain('Customer Lamps · owner Sam · language es · gold, vip');
    expect(await main(`${thread}/${number},${member}`)).not.toContain('Customer');
  });

  test('says of a text that it was removed, and how long it was', async () => {
    const removed = { body: null, body_length: 13, body_segment_count: 1, media_count: 1 };
    await facts.thread(40, [[minute(0), 'in', removed]], { number: '15551000040' });
    const text = await main(`/threads/${line}/15551000040`);
    expect(text.replaceAll('\n', ' ')).toContain('13 characters, removed after RETENTION_DAYS 1 file');
  });

  test('leads to older texts and back, and to the page with a text', async () => {
    const newest = await page(long);
    expect(numbersOf(newest)).toEqual(upTo(70, 120));
    const [, older = ''] = newest.match(/href="([^"]+)" rel="prev">Older/) ?? [];
    const second = await page(older);
    expect(numbersOf(second)).toEqual(upTo(20, 70));
    const [, oldest = ''] = second.match(/href="([^"]+)" rel="prev">Older/) ?? [];
    const last = await page(oldest);
    expect(numbersOf(last)).toEqual(upTo(0, 20));
    expect(last).not.toContain('rel="prev"');
    const [, newer = ''] = last.match(/href="([^"]+)" rel="next">Newer/) ?? [];
    expect(await page(newer)).toContain('Text no. 69.');
    expect(second).not.toContain('rel="next"');
    expect(second).toContain(`<a class="link" href="${long}">Newest texts</a>`);
    expect(numbersOf(await page(`${long}?text=2030`))).toEqual(upTo(0, 41));
    expect(numbersOf(await page(`${long}?text=2115`)).at(-1)).toBe(119);
  });

  test('shows a group with who wrote each text', async () => {
    const text = (await main(`/threads/${line}/${number},${member}`)).replaceAll('\n', ' ');
    expect(text).toContain(`Group of ${number}, ${member}`);
    expect(text).toContain(`${member} 10:00 Hi all`);
    expect(text).not.toContain('They called');
  });

  test('says what to do for a thread that is not held, and why an erased one is not', async () => {
    const answer = await world.get(`/threads/${line}/15557777777`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain(`npx trunkline resync thread ${line}/15557777777`);
    expect((await world.get('/threads/x')).status).toBe(400);
    expect((await world.get(`${thread}?before=x`)).status).toBe(404);
    await facts.thread(4, [[minute(0), 'in', { body: 'Forget me' }]], { number: '15551000004' });
    await facts.query(`insert into ops.erasures (number_hash) values (ops.erasure_hash('15551000004'))`);
    const gone = await world.get(`/threads/${line}/15551000004`);
    expect(gone.status).toBe(404);
    expect(await gone.text()).toContain('was erased');
  });

  test('is read by indexes', async () => {
    const of = (digits: string) => ({ line, number: digits, participants: [] });
    // Tables of a few rows, of which no index is needed.
    const small = ['reporting.params'];
    expect(await scannedBy(facts.db, (db) => readThread(db, of(number), undefined))).toEqual(small);
    expect(await scannedBy(facts.db, (db) => readThread(db, of(longNumber), { before: '2050' }))).toEqual(small);
    expect(await scannedBy(facts.db, (db) => readThread(db, of(longNumber), { around: '2050' }))).toEqual(small);
  });
});
