import { afterAll, beforeAll, expect, test } from 'vitest';
import { threadPage } from '../../../src/server/records/thread.ts';
import { viewOf } from '../../../src/server/records/view.ts';
import { belongingOf } from '../../../src/warehouse/links.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { openReceiver, settingsFor, type TestReceiver } from '../receiver.ts';
import { readable } from '../seed.ts';
import { scannedBy } from './scans.ts';

/* A thread with texts of every sender, calls between and rules; one of 120 texts; and a group. */

const facts = await factsDatabase();
let world: TestReceiver;
let discreet: TestReceiver;

const line = '15559990000';
const [number, longNumber, member] = ['15551000001', '15551000002', '15551000003'];
const [thread, long, group] = [
  `/threads/${line}/${number}`,
  `/threads/${line}/${longNumber}`,
  `/threads/${line}/${number},${member}`,
];
const call = '1795475360.101';
const minute = (at: number) => new Date(Date.UTC(2026, 10, 2, 15, at)).toISOString();

beforeAll(async () => {
  const settings = { TIME_ZONE: 'America/New_York', ENCRYPTION_KEY: 'k'.repeat(40) };
  world = await openReceiver(settingsFor(facts.url, settings));
  discreet = await openReceiver(settingsFor(facts.url, { ...settings, PAGES_WORDS: 'hidden' }));
  await facts.user(1, ['201']);
  const failed = { delivery_status: 'UNDELIV', delivery_error: 'absent' };
  await facts.thread(
    1,
    [
      [minute(0), 'in', { body: 'Where is my <b>lamp</b>?\nIt was \u202edue' }],
      [minute(1), 'out', { body: 'We are closed', delivery_status: 'DELIVRD', sent_by: 1 }],
      [minute(2), 'out', { body: 'It is on its way', sent_by: 1, ...failed }],
      [minute(3), 'out', { body: 'From elsewhere', media_count: 2 }],
      [minute(9), 'in', { body: 'STOP' }],
      [minute(10), 'out', { body: 'See you soon', sent_by: 1, is_scheduled: true, scheduled_at: minute(60) }],
      [minute(11), 'in', { body: 'Taken back', deleted_at: minute(12) }],
      [minute(12), 'in', { body: null, body_length: 13, body_segment_count: 1, media_count: 1 }],
    ],
    { number },
  );
  for (const [part, name] of [
    ['1', 'lamp.jpg'],
    ['2', 'bill'],
  ] as const) {
    const link = world.context.sealer?.seal(
      `https://example.org/${name}`,
      belongingOf('file', { owner: '1/1003', part }),
    );
    await facts.insert('secrets.links', { kind: 'file', owner: '1/1003', part, link });
  }
  await facts.call({ call_id: call, started_at: minute(5), external_number: number, account_number: '15559990001' });
  await facts.insert('warehouse.contacts', {
    ...{ number: longNumber, name: 'Kim <b>', company: 'Lamps', owner: 'Sam', language: 'es', tags: ['gold', 'vip'] },
  });
  await facts.query(
    `update warehouse.sms_conversations set is_resolved = true, resolved_observed_at = $1, message_count = 7 where conversation_id = 1`,
    minute(4),
  );
  await facts.query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason, conversation_id)
       values ('closed', 'v', 'message_received', '1/1000', $3, $1, $2, 'live', true, 'matched', 1),
         ('stopped', 'v', 'message_received', '1/1004', $4, $1, $2, 'live', true, 'matched', 1),
         ('idle', 'v', 'thread_idle', '1/1003', $6, $1, $2, 'live', true, 'matched', 1),
         ('grouped', 'v', 'message_received', '3/3000', $4, $1, $2, 'live', true, 'matched', 3),
         ('called', 'v', 'call_ended', $5, $6, $1, $2, 'dry-run', true, 'matched', null) returning run_id, rule
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
  const many = Array.from(
    { length: 120 },
    (_, at) => [minute(at), at % 2 === 0 ? 'in' : 'out', { body: `Text no. ${at}.` }] as const,
  );
  await facts.thread(2, many, { number: longNumber });
  const hello = { body: 'Hi all', from_number: member, group_participants: [number, member] };
  await facts.thread(3, [[minute(0), 'in', hello]], { number, participants_key: `${number},${member}` });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await discreet[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
const main = async (path: string) => readable(await page(path)).replaceAll(/sends\/[\w-]{36}/g, 'sends/ID');
const numbersOf = (markup: string) => Array.from(markup.matchAll(/Text no\. (\d+)\./g), ([, at]) => Number(at));
const upTo = (first: number, end: number) => Array.from({ length: end - first }, (_, at) => first + at);

test('the page of a thread tells texts, senders, calls, rules and state in the order of time', async () => {
  expect(await main(thread)).toMatchInlineSnapshot(`
    "Texts with 15551000001
    On 15559990000 · 7 texts held, perhaps not all: no read has listed the thread to its end · To the newest [#text-1007]
    State
    Conversation resolved, before a newer text of theirs
    Observed 2026-11-02 10:04:00
    Assigned to not known
    Automatic texts opted out
    Evidence by a text of theirs
    Decided 2026-11-02 10:09:00
    Monday, 2 November 2026
    15551000001 10:00
    Where is my &lt;b&gt;lamp&lt;/b&gt;? It was \\u202edue
    Rule closed [/rules/explain/1000]: reply: sent [/sends/ID]
    Automatic: rule closed 10:01
    We are closed
    delivered
    User 1 10:02
    It is on its way
    not delivered (absent)
    Unknown sender 10:03
    From elsewhere
    [/threads/files/1-1003/1]File 2 [/threads/files/1-1003/2]
    no receipt yet
    Rule idle [/rules/explain/1003]: no steps
    10:05 They called 15559990001 [/calls/1795475360.101]: answered, 1 min 50 s
    Rule called [/rules/explain/1795475360.101] (dry-run): resolve: only simulated
    15551000001 10:09
    STOP
    opts out of automatic texts
    Rule stopped [/rules/explain/1004]: reply: refused by a gate [/sends/ID] (the person has opted out): Are you sure?
    User 1 10:10
    See you soon
    not sent yet: scheduled for 2026-11-02 11:00:00
    15551000001 10:12
    13 characters, removed after RETENTION_DAYS
    1 file
    No rule matched: why [/rules/explain/1007]
    Texts that were deleted at the service are not shown."
  `);
  expect(await page(thread)).toContain('<img src="/threads/files/1-1003/1"');
});

test('it hides what was written where words are hidden', async () => {
  const hidden = await (await discreet.get(thread)).text();
  for (const each of ['Where is my', 'We are closed', 'STOP', 'Are you sure', 'See you', '/threads/files'])
    expect(hidden).not.toContain(each);
  expect(hidden).toContain('13 characters, hidden');
});

test('it names the customer of the imported list', async () => {
  const text = await main(long);
  expect(text).toContain('Texts with Kim &lt;b&gt; (15551000002)');
  expect(text).toContain('Customer Lamps · owner Sam · language es · gold, vip');
});

test('it leads to older texts and back, and to the page with a text', async () => {
  const linkIn = (markup: string, rel: string) => new RegExp(`href="([^"]+)" rel="${rel}"`).exec(markup)?.[1] ?? '';
  const newest = await page(long);
  expect(numbersOf(newest)).toEqual(upTo(70, 120));
  expect(linkIn(newest, 'next')).toBe('');
  const second = await page(linkIn(newest, 'prev'));
  expect(numbersOf(second)).toEqual(upTo(46, 96));
  const third = await page(linkIn(second, 'prev'));
  expect(numbersOf(third)).toEqual(upTo(22, 72));
  const last = await page(linkIn(third, 'prev'));
  expect(numbersOf(last)).toEqual(upTo(0, 48));
  expect(linkIn(last, 'prev')).toBe('');
  const newer = await page(linkIn(last, 'next'));
  expect(numbersOf(newer)).toEqual(upTo(23, 73));
  expect(newer).toContain(`<a class="link" href="${long}">Newest texts</a>`);
  const end = await page(`${long}?text=2115`);
  expect([numbersOf(end).at(-1), linkIn(end, 'next')]).toEqual([119, '']);
});

test('a group tells who wrote, and nothing of the thread with its first participant', async () => {
  const text = (await main(group)).replaceAll('\n', ' ');
  expect(text).toContain(`Group of ${number}, ${member}`);
  expect(text).toContain(`${member} 10:00 Hi all`);
  expect(text).toContain('Rule grouped');
  expect(text).not.toMatch(/They called|Rule (called|stopped|idle)|Automatic texts/);
});

test('a thread that is not held says what to do, and an erased one why', async () => {
  const answer = await world.get(`/threads/${line}/15557777777`);
  expect([answer.status, await answer.text()]).toEqual([
    404,
    expect.stringContaining(`resync thread ${line}/15557777777`),
  ]);
  expect((await world.get('/threads/x')).status).toBe(400);
  expect((await world.get(`${thread}?text=x`)).status).toBe(404);
  await facts.thread(4, [[minute(0), 'in', { body: 'Forget me' }]], { number: '15551000004' });
  await facts.query(`insert into ops.erasures (number_hash) values (ops.erasure_hash('15551000004'))`);
  const gone = await world.get(`/threads/${line}/15551000004`);
  expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining('was erased')]);
});

test.each([{}, { text: '2050' }])('it is read by indexes: %o', async (query) => {
  const view = viewOf('UTC', true, undefined);
  const scanned = await scannedBy(facts.db, (tx) => threadPage(tx as never, `${line}/${longNumber}`, query, view));
  // A table of one row.
  expect(scanned).toEqual(['secrets.erasure_salt']);
});
