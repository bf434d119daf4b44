import { expect, test } from 'vitest';
import { type Facts, factsDatabase } from './facts.ts';
import { line, stateThreads } from './threads.ts';

/** Of a conversation, each turn: its texts, the first reply, and seconds until a reply, a user's, in business time, and of whom. */
const turns = ({ lines }: Facts, conversation: number) =>
  lines(
    `select inbound_count, first_reply_kind, reply_seconds, user_reply_seconds, user_reply_business_seconds, user_key
     from reporting.fct_sms_turn where conversation_id = $1 order by turn_number`,
    conversation,
  );
const user = { sent_by: 1 };

test('a turn waits for what reached the customer', async () => {
  await using facts = await factsDatabase();
  await stateThreads(facts);
  // A text that failed is no reply.
  await facts.query(
    `update warehouse.sms_messages set delivery_status = 'delivered', delivery_error = null where conversation_id = 1 and delivery_error <> ''`,
  );
  await facts.drain();
  // By a person even when one of an unknown sender came first.
  expect(await turns(facts, 1)).toEqual(['1 | unknown | 5 | 1200 | 1200 | 1', '1 | user | 600 | 600 | 600 | 1']);
  // Begun again after a silence, so that an old "thanks" does not wait for days.
  expect(await turns(facts, 2)).toEqual([
    '1 | user | 60 | 60 | 60 | 1',
    '1 | - | - | - | - | -',
    '1 | - | - | - | - | -',
  ]);
  // After a weekend, in business time.
  expect(await turns(facts, 3)).toEqual(['1 | user | 229500 | 229500 | 2700 | 1']);
  // Not ended by a blocked text, nor by a scheduled one, and then days later; and none without a text of the customer.
  expect(await turns(facts, 4)).toEqual(['1 | - | - | - | - | -']);
  expect(await turns(facts, 6)).toEqual([]);
  await facts.insert('warehouse.sms_messages', {
    ...{ conversation_id: 4, message_id: 4900, line, number: '15551000004', direction: 'out' },
    ...{ sent_at: '03-11T15:00', ...user, body: 'text' },
  });
  await facts.drain();
  expect(await turns(facts, 4)).toEqual(['1 | user | 86400 | 86400 | 28800 | 1']);
});

// Monday to Friday, 09:00-17:00 in New York, which is four hours behind UTC in April.
const replies: readonly (readonly [string, string, string, boolean, number | null])[] = [
  ['begun and replied to on a closed evening', '04-06T22:00', '04-06T22:20', false, null],
  ['begun and replied to on a Saturday', '04-11T15:00', '04-11T15:05', false, null],
  ['begun on an evening, replied to on the next morning', '04-06T22:00', '04-07T13:10', false, 600],
  ['begun on a Friday evening, replied to on Monday evening', '04-10T22:00', '04-13T22:00', false, 28_800],
  ['replied to in the second of opening', '04-07T12:59', '04-07T13:00', false, 0],
  ['begun in the second of opening', '04-07T13:00', '04-07T13:01', true, 60],
  ['begun in the second of closing', '04-07T21:00', '04-07T21:01', false, null],
  ['begun in the last second, replied to after closing', '04-07T20:59:59', '04-07T21:30', true, 1],
  ['replied to in the same second', '04-07T15:00', '04-07T15:00', true, 0],
];

test('business time of a reply is NULL where there was none, so that medians take only the turns that have some', async () => {
  await using facts = await factsDatabase();
  await facts.hours('');
  for (const [at, [, from, to]] of replies.entries()) {
    await facts.thread(100 + at, [
      [from, 'in'],
      [to, 'out', user],
    ]);
  }
  await facts.drain();
  const told = await facts.lines(
    'select is_business_hours, user_reply_business_seconds from reporting.fct_sms_turn order by conversation_id',
  );
  expect(told.map((each, at) => `${replies[at]?.[0]}: ${each}`)).toEqual(
    replies.map(([what, , , isOpen, seconds]) => `${what}: ${isOpen} | ${seconds ?? '-'}`),
  );
});

test('fct_sms_turn tells who waits, and who is not known to be resolved since, until they are erased', async () => {
  await using facts = await factsDatabase();
  for (const id of [10, 11, 12]) await facts.thread(id, [['15:00', 'in']]);
  const resolve = (id: number, at: string) =>
    facts.query(
      `update warehouse.sms_conversations set is_resolved = true, resolved_at = $2 where conversation_id = $1`,
      id,
      at,
    );
  await resolve(11, '2026-03-02T16:00Z');
  await resolve(12, '2026-03-02T14:00Z');
  await facts.insert('warehouse.users', { user_id: 7, first_name: 'Ann' });
  const assigned = 'update warehouse.sms_conversations set assigned_user_id = 7';
  await facts.query(`${assigned}, is_assignment_known = true where conversation_id = 12`);
  await facts.query(`${assigned} where conversation_id = 10`);
  await facts.drain();
  const waiting = () =>
    facts.expectRows(`
      select conversation_id, turn_started_at, inbound_count, assigned_name from reporting.fct_sms_turn where is_waiting order by 1`);
  await waiting().toEqual(['10 | 2026-03-02T15:00:00Z | 1 | -', '12 | 2026-03-02T15:00:00Z | 1 | Ann']);
  for (const table of ['messages', 'conversations'])
    await facts.query(`delete from warehouse.sms_${table} where conversation_id = 10`);
  await facts.drain();
  await waiting().toEqual(['12 | 2026-03-02T15:00:00Z | 1 | Ann']);
  expect(await turns(facts, 10)).toEqual([]);
});

test('a reaction is no turn, and nobody waits because of one', async () => {
  await using facts = await factsDatabase();
  const reaction = { is_reaction: true };
  await facts.thread(20, [
    ['15:00', 'in'],
    ['15:01', 'out', user],
    ['15:02', 'in', reaction],
    ['15:03', 'in', reaction],
  ]);
  await facts.thread(21, [
    ['15:00', 'in'],
    ['15:01', 'in', reaction],
  ]);
  await facts.drain();
  expect(await turns(facts, 20)).toEqual(['1 | user | 60 | 60 | 60 | 1']);
  await facts
    .expectRows('select conversation_id, inbound_count from reporting.fct_sms_turn where is_waiting')
    .toEqual(['21 | 1']);
});
