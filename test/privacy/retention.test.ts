import { expect, test } from 'vitest';
import type { RetentionDays } from '../../config/settings.ts';
import { inTransaction } from '../../src/db/database.ts';
import { takeLock } from '../../src/db/locks.ts';
import { createRetention } from '../../src/privacy/retention.ts';
import { createLog } from '../../src/shared/log.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { ignored, readNumber } from '../warehouse/reads.ts';

/* What a round removes; each test has a line of its own. */

const facts = await factsDatabase();
const { db, insert, lines, query, value } = facts;

const never = new AbortController().signal;
const daysAgo = (days: number, seconds = 0) => new Date(Date.now() - days * 86_400_000 + seconds * 1_000).toISOString();
const remove = (days: RetentionDays, signal = never) =>
  createRetention({ db, log: createLog('silent'), days }).round(signal);

const bodies = (line: string) =>
  lines('select body from warehouse.sms_messages where line = $1 order by message_id', line);
const texts = (
  line: string,
  ...sent: readonly (readonly [body: string, sentAt: string | null, firstSeenAt?: string])[]
) =>
  insert(
    'warehouse.sms_messages',
    ...sent.map(([body, sent_at, first_seen_at = daysAgo(0)], at) => ({
      ...{ conversation_id: 1_000 + Number(line), message_id: at + 1, line, number: '15550000001', direction: 'in' },
      ...{ body, sent_at, first_seen_at },
    })),
  );

test('takes a day for 24 hours', async () => {
  await texts('1', ['over', daysAgo(30, -60)], ['under', daysAgo(30, 3_600)], ['future', daysAgo(-2)]);
  await remove({ texts: 30 });
  expect(await bodies('1')).toEqual(['-', 'under', 'future']);
});

test('agrees with the writer of texts', async () => {
  const read = { ...readNumber(1), fetchedAt: new Date().toISOString() };
  const message = (id: string, sentAt: string) => ({
    ...{ id, direction: 'in', text: `text ${id}`, sentAt, unknownKeys: [], raw: {} },
  });
  const thread = { line: '2', number: '15550000002', participants: [] };
  const messages = [message('1', daysAgo(30, -60)), message('2', daysAgo(30, 3_600))] as never;
  const written = { thread, messages, isComplete: true, retentionDays: 30, read };
  await inTransaction(db, (tx) => writeThreads(tx, ignored, [written]));
  expect(await bodies('2')).toEqual(['-', 'text 2']);
  const lengths = `select body_length from warehouse.sms_messages where line = '2' order by message_id`;
  expect(await lines(lengths)).toEqual(['6', '-']);
});

test('takes what has no time for as old as its row', async () => {
  await texts('3', ['old', null, daysAgo(31)], ['new', null, daysAgo(29)]);
  const second = (days: number) => Math.floor(Date.parse(daysAgo(days)) / 1_000);
  for (const [id, call_id, first_seen_at] of [
    [31, `${second(31)}.1`, daysAgo(0)],
    [32, `${second(29)}.1`, daysAgo(40)],
    [33, 'odd', daysAgo(31)],
  ] as const) {
    await insert('warehouse.transcripts', { transcript_id: id, call_id, short_summary: 'words', first_seen_at });
    await insert('secrets.links', { kind: 'recording', owner: call_id, part: 'leg', link: 'sealed', first_seen_at });
  }
  await remove({ texts: 30, transcripts: 30, recordings: 30 });
  expect(await bodies('3')).toEqual(['-', 'new']);
  expect(await lines('select transcript_id from warehouse.transcripts where short_summary is not null')).toEqual([
    '32',
  ]);
  expect(await value('select count(*)::integer from secrets.links')).toBe(1);
});

const settled = ['SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED'];

test.each([
  ...settled.map((state) => [state, 31, ''] as const),
  ['SENT', 29, 'words'],
  ['UNKNOWN', 31, 'words'],
  ['NEEDS_HUMAN', 31, 'words'],
] as const)('of what rules sent, that which is %s for %i days keeps %j', async (state, days, kept) => {
  const [at, number] = [daysAgo(days), `4${state}${days}`];
  const trigger = { trigger_kind: 'message', trigger_id: number, trigger_at: at };
  const send = { rule: 'r', line: '4', number, mode: 'live', body: 'words', state, expires_at: at, planned_at: at };
  await insert('ops.sends', { ...trigger, ...send });
  await remove({ texts: 30 });
  expect(await lines('select body from ops.sends where number = $1', number)).toEqual([kept]);
});

test.each([
  ['failed', 31, '-'],
  ['failed', 29, '"words"'],
  ['waiting', 31, '"words"'],
] as const)('of what actions were to say, that which is %s for %i days keeps %s', async (state, days, kept) => {
  const at = daysAgo(days);
  const run = { rule: 'r', version: '1', trigger_kind: 'call', trigger_key: `${state}${days}`, trigger_at: at };
  await insert('ops.rule_runs', { ...run, mode: 'live', is_matched: true, reason: '', line: '4', number: '4' });
  const run_id = await value('select max(run_id) from ops.rule_runs');
  await insert('ops.rule_actions', { run_id, ordinal: 1, kind: 'comment', state, settled_at: at, argument: '"words"' });
  await remove({ texts: 30 });
  expect(await lines('select argument::text from ops.rule_actions where run_id = $1', run_id)).toEqual([kept]);
});

test('leaves nothing that the search could find', async () => {
  await query('update reporting.params set is_text_shown = true');
  await texts('5', ...Array.from({ length: 20 }, () => ['pangolin', daysAgo(31)] as const));
  await facts.call({ call_id: 'spoken', started_at: daysAgo(31) });
  await insert('warehouse.transcripts', { transcript_id: 51, call_id: 'spoken', short_summary: 'a pangolin' });
  await facts.call({ call_id: 'recent', started_at: daysAgo(1) });
  await insert('warehouse.transcripts', { transcript_id: 52, call_id: 'recent', short_summary: 'an okapi' });
  await query(
    `insert into warehouse.transcript_bodies (transcript_id, segments, full_text, fetch_seq)
     values (51, '[]', 'a pangolin', 1), (52, '[]', 'an okapi', 1)`,
  );
  await facts.drain();
  const hits = () => value(`select count(*)::integer from reporting.search('pangolin')`);
  expect(await hits()).toBe(21);
  await remove({ texts: 30, transcripts: 30 });
  expect(await hits()).toBe(0);
});

test('stops when it is told to, and runs in one process at a time', async () => {
  await query(
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, body, sent_at, content_hash, source, fetch_seq, fetched_at)
     select 1006, n, '6', '15550000006', 'in', 'text ' || n, now() - interval '31 days' - n % 3 * interval '1 day', 'h', 'test', 1, now()
     from generate_series(1, 2500) n`,
  );
  const left = () =>
    value(`select count(*)::integer from warehouse.sms_messages where line = '6' and body is not null`);
  expect(await remove({ texts: 30 }, AbortSignal.abort())).toEqual({});
  await inTransaction(db, async (tx) => {
    await takeLock(tx, 'retention');
    expect(await remove({ texts: 30 })).toEqual({});
  });
  expect(await left()).toBe(2_500);
  expect((await remove({ texts: 30 }))['warehouse.sms_messages']).toBe(2_500);
  expect(await left()).toBe(0);
  expect(await remove({ texts: 30 })).toEqual({});
});

test('looks again at the last day, and at everything after a start', async () => {
  const retention = createRetention({ db, log: createLog('silent'), days: { texts: 30 } });
  await retention.round(never);
  await texts('7', ['behind', daysAgo(30, -3_600)], ['far behind', daysAgo(40)]);
  expect(await retention.round(never)).toEqual({ 'warehouse.sms_messages': 1 });
  expect(await bodies('7')).toEqual(['-', 'far behind']);
  await remove({ texts: 30 });
  expect(await bodies('7')).toEqual(['-', '-']);
});

test('does nothing without days', async () => {
  await texts('8', ['ancient', daysAgo(9_000)]);
  expect(await remove({})).toEqual({});
  expect(await remove({ recordings: 30 })).toEqual({});
  expect(await bodies('8')).toEqual(['ancient']);
});
