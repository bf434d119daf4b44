import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type GateInputs, type GateSubject, readGateInputs } from '../../../src/ledger/gates/inputs.ts';
import type { RuleLimits } from '../../../src/ledger/limits.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { putInForce } from '../ledger-world.ts';

/* What the gates are given of the mirror and the ledger; what they make of it is in `judge.test.ts`. */

const facts = await factsDatabase();
const { db, insert, query } = facts;

type Row = Readonly<Record<string, unknown>>;

const line = '15559990000';
const day = 86_400;
let threads = 0;

/** A time by the second of May 5, 2026 at noon, or so many seconds later. */
const at = (seconds: number) => new Date(Date.UTC(2026, 4, 5, 12) + seconds * 1_000).toISOString();

/** What is said of a text beside its second and its direction. */
const marks: Readonly<Record<string, object>> = {
  ...{ reaction: { is_reaction: true }, deleted: { deleted_at: at(99) }, scheduled: { is_scheduled: true } },
  ...{ user: { sent_by: 7 }, blocked: { is_blocked: true }, Hi: { body: 'Hi' } },
  STOP: { opt_out_verdict: 'opt_out' },
  group: { group_participants: ['15551000001', '15551000002'] },
};

/** A thread of its own with texts as in `0 in | 5 out user`. The first is the trigger, or that of another place. */
async function thread(texts: string, place = 0): Promise<GateSubject & { readonly number: string }> {
  threads += 1;
  const messages = texts.split(' | ').map((text) => {
    const [seconds = '', direction = '', ...marked] = text.split(' ');
    return [
      at(Number(seconds)),
      direction as 'in' | 'out',
      Object.assign({}, ...marked.map((mark) => marks[mark])),
    ] as const;
  });
  await facts.thread(threads, messages);
  const id = String(threads * 1_000 + place);
  const number = `1555100${String(threads).padStart(4, '0')}`;
  return { line, number, trigger: { kind: 'message', id, at: new Date(messages[place]?.[0] ?? 0) } };
}

const read = (subject: GateSubject, past?: Date): Promise<GateInputs> =>
  db.transaction().execute((tx) => readGateInputs(tx, subject, past));

/** A send of the ledger in a thread. */
async function send({ number, trigger }: GateSubject, values: Row): Promise<string> {
  const send_id = randomUUID();
  const key = { rule: send_id, trigger_kind: 'message', trigger_id: trigger.id, trigger_at: trigger.at };
  await insert('ops.sends', { send_id, ...key, line, number, mode: 'live', expires_at: at(day), ...values });
  return send_id;
}

test.each<[what: string, texts: string, inputs: Partial<GateInputs>, place?: number]>([
  ['nothing else', '0 in', { hasNewerInbound: false, isAnswered: false, humanAt: null, earlierInbound: [] }],
  ['a later text of theirs', '0 in | 1 in', { hasNewerInbound: true }],
  ['one of the same second with a higher id', '0 in | 0 in', { hasNewerInbound: true }],
  ['one of the same second with a lower id', '0 in | 0 in', { hasNewerInbound: false }, 1],
  ['a reaction', '0 in | 1 in reaction', { hasNewerInbound: false }],
  ['a deleted text', '0 in | 1 in deleted', { hasNewerInbound: false }],
  ['a later text of ours', '0 in | 0 out', { isAnswered: true, humanAt: null }],
  ['an earlier text of ours', '0 in | -1 out', { isAnswered: false }],
  ['a scheduled text of ours', '0 in | 1 out scheduled', { isAnswered: false }],
  ['a text of a user', '0 in | -9 out user | -5 out', { humanAt: new Date(at(-9)) }],
  ['the newest was blocked', '0 in | -9 out | -5 out blocked', { wasBlocked: true }],
  ['the newest was not blocked', '0 in | -9 out blocked | -5 out', { wasBlocked: false }],
  ['a text of a group', '0 in group', { isGroup: true }],
  ['the trigger', '0 in Hi', { isGroup: false, trigger: { text: 'Hi', at: new Date(at(0)), direction: 'in' } }],
  ['a trigger that was deleted', '0 in deleted', { trigger: null }],
])('of the thread: %s', async (_, texts, inputs, place) => {
  expect(await read(await thread(texts, place))).toMatchObject(inputs);
});

test('the texts of the day before the trigger, without reactions', async () => {
  const subject = await thread(`0 in | ${1 - day} in Hi | ${-day} in | -1 in reaction`);
  expect((await read(subject)).earlierInbound).toEqual([{ text: 'Hi', at: new Date(at(1 - day)) }]);
});

test('at a past moment, only what was said until then', async () => {
  const subject = await thread('0 in | 10 in STOP | 20 out user');
  const seen = async (seconds: number) => {
    const { hasNewerInbound, optOuts, isAnswered, humanAt } = await read(subject, new Date(at(seconds)));
    return [hasNewerInbound, optOuts.length > 0, isAnswered, humanAt !== null];
  };
  expect([await seen(9), await seen(11), await seen(21)]).toEqual([
    [false, false, false, false],
    [true, true, false, false],
    [true, true, true, true],
  ]);
});

test('what is written while a rule waits counts as newer than its call', async () => {
  const subject = await thread('-60 in | 60 in');
  const trigger = { kind: 'call', id: 'none', at: new Date(at(120)) } as const;
  const newer = async (limits: RuleLimits) => (await read({ ...subject, trigger, limits })).hasNewerInbound;
  expect([await newer({}), await newer({ delaySeconds: 61 })]).toEqual([false, true]);
});

test('the ledger’s own texts neither answer nor are a person’s; those of a day before the trigger count', async () => {
  const subject = await thread(`0 in | ${1 - day} out | ${-day} out | 5 out user`);
  for (const place of [1, 2, 3]) await send(subject, { state: 'SENT', message_id: Number(subject.trigger.id) + place });
  const ownMessages = [new Date(at(5)), new Date(at(1 - day))];
  expect(await read(subject)).toMatchObject({ isAnswered: false, humanAt: null, ownMessages });
});

test('the sends of a week that left, or may have, but for itself', async () => {
  const subject = await thread('0 in');
  const rows =
    'SENT 0, UNKNOWN 1, NEEDS_HUMAN 2, DISPATCHED 6.9, SENT 7.1, REJECTED 0, NOT_SENT 0, DENIED 0, SKIPPED 0';
  for (const body of rows.split(', ')) {
    const [state, days = ''] = body.split(' ');
    await send(subject, {
      body,
      state,
      search_count: 3,
      dispatched_at: new Date(Date.now() - Number(days) * day * 1_000 - 5_000),
    });
  }
  const sendId = await send(subject, { body: 'itself', state: 'UNKNOWN', search_count: 3, dispatched_at: new Date() });
  const { ownSends } = await read({ ...subject, sendId });
  expect(ownSends.map(({ text }) => text)).toEqual(['SENT 0', 'UNKNOWN 1', 'NEEDS_HUMAN 2', 'DISPATCHED 6.9']);
});

const ended = { valid_from: '2026-01-01', valid_to: '2026-02-01' };
const endpoint = { user_id: 1, kind: 'number' };

const provenance = { content_hash: '', source: 't', fetch_seq: 1, fetched_at: at(0) };

test.each<[what: string, table: string, row: (number: string) => Row, isOwn: boolean]>([
  ['a line', 'sms_lines', (number) => ({ line: number, ...provenance }), true],
  ['a number of a user', 'user_endpoints', (number) => ({ ...endpoint, endpoint: number }), true],
  ['a former number of a user', 'user_endpoints', (number) => ({ ...endpoint, endpoint: number, ...ended }), false],
  ['an extension', 'user_endpoints', (number) => ({ ...endpoint, kind: 'extension', endpoint: number }), false],
  ['a mobile', 'users', (number) => ({ user_id: 91, mobile: `(${number.slice(1, 4)}) ${number.slice(4)}` }), true],
  ['a former user’s mobile', 'users', (number) => ({ user_id: 92, mobile: number, deleted_at: at(0) }), false],
])('%s as a number of the account', async (_, table, row, isOwnNumber) => {
  const subject = await thread('0 in');
  await insert(`warehouse.${table}`, row(subject.number));
  expect(await read(subject)).toMatchObject({ isOwnNumber });
});

let calls = 0;

/** A call from a number, or to it, by the seconds at which it began. */
async function call(number: string, seconds: number, values: Row = {}): Promise<string> {
  calls += 1;
  const call_id = `${1_777_982_400 + seconds}.${calls}`;
  const times = { started_at: at(seconds), ended_at: at(seconds + 20) };
  await facts.call({ call_id, external_number: number, ...times, ...values });
  return call_id;
}

test('the numbers of a call, and that it came from an extension', async () => {
  const { number } = await thread('0 in');
  const numbers = { caller_number: '104', caller_id_external: '+372 5', called_number: '5' };
  const id = await call(number, 0, { status: 'missed', ...numbers });
  const inputs = await read({ line, number, trigger: { kind: 'call', id, at: new Date(at(0)) } });
  expect(inputs).toMatchObject({ callerIds: ['104', '+372 5', '5'], isOwnNumber: true, trigger: null });
});

test.each<[what: string, hasTalked: boolean, seconds: number, status: string, values?: Row]>([
  ['they were called back', true, 60, 'answered', { direction: 'outbound' }],
  ['nobody took that call either', false, 60, 'missed'],
  ['it was taken without a word', false, 60, 'answered', { talk_seconds: 0 }],
  ['a talk of before', false, -60, 'answered'],
  ['a talk that went on', true, -60, 'answered', { ended_at: at(1) }],
  ['a talk that was deleted', false, 60, 'answered', { deleted_at: at(99) }],
])('after a missed call, %s', async (_, hasTalked, seconds, status, values) => {
  const { number } = await thread(`${-day} in`);
  const id = await call(number, 0, { status: 'missed' });
  await call(number, seconds, { status, ...values });
  const trigger = { kind: 'call', id, at: new Date(at(0)) } as const;
  expect(await read({ line, number, trigger })).toMatchObject({ hasTalked });
  expect(await read({ line, number, trigger }, new Date(at(30))), 'not before it ended').toMatchObject({
    hasTalked: hasTalked && seconds < 0,
  });
});

test.each<[what: string, hasTalked: boolean, text: string, isOurs?: boolean]>([
  ['a user texted them', true, '60 out user'],
  ['a user had texted them', false, '-60 out user'],
  ['another program texted them', false, '60 out'],
  ['the ledger texted them, for a user', false, '60 out user', true],
  ['they texted', false, '60 in'],
])('after a missed call, %s', async (_, hasTalked, text, isOurs = false) => {
  const subject = await thread(text);
  const id = await call(subject.number, 0, { status: 'missed' });
  if (isOurs) await send(subject, { state: 'SENT', message_id: subject.trigger.id });
  const trigger = { kind: 'call', id, at: new Date(at(0)) } as const;
  expect(await read({ ...subject, trigger })).toMatchObject({ hasTalked });
  const isAnswered = { ...subject, trigger: { ...trigger, id: await call(subject.number, 0) } };
  expect(await read(isAnswered), 'a call that was answered').toMatchObject({ hasTalked: false });
});

test('an erased number', async () => {
  const subject = await thread('0 in');
  expect(await read(subject)).toMatchObject({ isErased: false });
  await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', subject.number);
  expect(await read(subject)).toMatchObject({ isErased: true });
});

test('a newer text is undecided while the rules have it before them, and in no past', async () => {
  const subject = await thread('0 in | 1 in');
  const key = `${threads}/${Number(subject.trigger.id) + 1}`;
  expect(await read(subject)).toMatchObject({ isNewerUndecided: false });
  await insert('ops.rule_events', { kind: 'message_received', key, happened_at: at(1) });
  expect(await read(subject)).toMatchObject({ isNewerUndecided: true });
  expect(await read(subject, new Date(at(2)))).toMatchObject({ isNewerUndecided: false });
});

const assign = { ordinal: 1, kind: 'assign', state: 'waiting' };

test.each<[what: string, isAwaitingSteps: boolean, step: Row, secondsAgo?: number]>([
  ['an assignment before it', true, assign],
  ['one for a minute', false, assign, 61],
  ['one that is done', false, { ...assign, state: 'done' }],
  ['one after it', false, { ...assign, ordinal: 3 }],
  ['a webhook', true, { ...assign, kind: 'webhook', target: 'office' }],
  ['a webhook that was tried', false, { ...assign, kind: 'webhook', target: 'office', tries: 1 }],
  ['its own resolution', false, { ...assign, kind: 'resolve' }],
])('a reply that waits for an earlier step: %s', async (_, isAwaitingSteps, step, secondsAgo = 0) => {
  const subject = await thread('0 in');
  const sendId = await send(subject, { state: 'PLANNED' });
  const key = { trigger_kind: 'message_received', trigger_key: subject.trigger.id, trigger_at: subject.trigger.at };
  const run = {
    rule: 'r',
    version: '1',
    ...key,
    line,
    number: subject.number,
    mode: 'live',
    is_matched: true,
    reason: '',
  };
  const run_id = 1_000_000 + threads;
  const evaluated_at = new Date(Date.now() - secondsAgo * 1_000);
  await query(
    `insert into ops.rule_runs (run_id, ${Object.keys(run)}, evaluated_at) overriding system value
     values (${run_id}, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    ...[...Object.values(run), evaluated_at],
  );
  await insert('ops.rule_actions', { run_id, ordinal: 2, kind: 'reply', state: 'waiting', send_id: sendId });
  await insert('ops.rule_actions', { run_id, ...step });
  expect(await read({ ...subject, sendId })).toMatchObject({ isAwaitingSteps });
});

test('the mode in force of the rule that planned it; a text of no rule is live', async () => {
  const subject = await thread('0 in');
  const sendId = await send(subject, { rule: 'mine', rule_version: '1', state: 'SENT' });
  const byHand = await send(subject, { rule: 'by hand', state: 'SENT' });
  const modes = async () => [
    (await read({ ...subject, sendId })).ruleMode,
    (await read({ ...subject, sendId: byHand })).ruleMode,
  ];
  expect(await modes(), 'before rules were applied').toEqual(['live', 'live']);
  for (const mode of ['dry-run', 'live']) {
    await putInForce(facts, { rules: [{ name: 'mine', mode }] });
    expect(await modes()).toEqual([mode, 'live']);
  }
  await putInForce(facts, {});
  expect(await modes(), 'of a rule that is gone').toEqual(['off', 'live']);
});

test('the price of a day, and the switch', async () => {
  const subject = await thread('0 in');
  const price = async (hours: number) => {
    await query(
      `update ops.send_control set is_paused = true, highest_unit_micros = 7, highest_unit_at = now() - $1 * interval '1 hour'`,
      hours,
    );
    return (await read(subject)).highestUnitMicros;
  };
  expect([await price(23.9), await price(24.1)]).toEqual([7, 0]);
  expect(await read(subject)).toMatchObject({ isPaused: true });
});
