import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';
import { line, stateThreads } from './threads.ts';

const facts = await factsDatabase();
const { lines, query, thread } = facts;
beforeAll(async () => {
  await stateThreads(facts);
  // A text that failed is no reply.
  await query(
    `update warehouse.sms_messages set delivery_status = 'delivered', delivery_error = null where conversation_id = 1 and delivery_error <> ''`,
  );
  await facts.drain();
});
afterAll(() => facts[Symbol.asyncDispose]());

const turns = (conversation: number) =>
  lines(
    `select turn_number, inbound_count, first_reply_kind, reply_seconds, user_reply_seconds,
       user_reply_business_seconds, user_key::integer as by
     from reporting.fct_sms_turn where conversation_id = $1 order by 1`,
    conversation,
  );

describe('a turn', () => {
  // Its number, its texts, the first reply, and seconds until a reply, a user's, in
  // business time, and of whom.
  test.each([
    [
      'is replied to by a person even when one of an unknown sender came first',
      1,
      ['1 | 1 | unknown | 5 | 1200 | 1200 | 1', '2 | 1 | user | 600 | 600 | 600 | 1'],
    ],
    [
      'begins again after a silence, so that an old "thanks" does not wait for days',
      2,
      ['1 | 1 | user | 60 | 60 | 60 | 1', '2 | 1 | - | - | - | - | -', '3 | 1 | - | - | - | - | -'],
    ],
    ['is replied to after a weekend, in business time', 3, ['1 | 1 | user | 229500 | 229500 | 2700 | 1']],
    ['is not ended by a blocked text, nor by a scheduled one', 4, ['1 | 1 | - | - | - | - | -']],
    ['needs a text of the customer', 6, []],
  ])('%s', async (_, conversation, expected) => {
    expect(await turns(conversation)).toEqual(expected);
  });

  test('is replied to when the reply comes days later', async () => {
    await facts.insert('warehouse.sms_messages', {
      ...{ conversation_id: 4, message_id: 4900, line, number: '15551000004', direction: 'out' },
      ...{ sent_at: '2026-03-11T15:00:00Z', sent_by: 1, body: 'text' },
    });
    await facts.drain();
    expect(await turns(4)).toEqual(['1 | 1 | user | 86400 | 86400 | 28800 | 1']);
  });
});

describe('business time', () => {
  // Monday to Friday, 09:00-17:00 in New York, which is four hours behind UTC in April.
  const cases: readonly (readonly [string, string, string, boolean, number | null])[] = [
    ['begun and replied to on a closed evening', '2026-04-06T22:00:00Z', '2026-04-06T22:20:00Z', false, null],
    ['begun and replied to on a Saturday', '2026-04-11T15:00:00Z', '2026-04-11T15:05:00Z', false, null],
    ['begun on an evening, replied to on the next morning', '2026-04-06T22:00:00Z', '2026-04-07T13:10:00Z', false, 600],
    [
      'begun on a Friday evening, replied to on Monday evening',
      '2026-04-10T22:00:00Z',
      '2026-04-13T22:00:00Z',
      false,
      28_800,
    ],
    ['replied to in the second of opening', '2026-04-07T12:59:00Z', '2026-04-07T13:00:00Z', false, 0],
    ['begun in the second of opening', '2026-04-07T13:00:00Z', '2026-04-07T13:01:00Z', true, 60],
    ['begun in the second of closing', '2026-04-07T21:00:00Z', '2026-04-07T21:01:00Z', false, null],
    ['begun in the last second, replied to after closing', '2026-04-07T20:59:59Z', '2026-04-07T21:30:00Z', true, 1],
    ['replied to in the same second', '2026-04-07T15:00:00Z', '2026-04-07T15:00:00Z', true, 0],
  ];
  const ids = cases.map((_, at) => 100 + at);
  const opens = (open: boolean) => cases.filter(([, , , isOpen]) => isOpen === open).length;

  beforeAll(async () => {
    for (const [at, [, from, to]] of cases.entries()) {
      await thread(100 + at, [
        [from, 'in'],
        [to, 'out', { sent_by: 1 }],
      ]);
    }
    await facts.drain();
  });

  test.each(cases.map((each, at) => [at, ...each] as const))('%i: %s', async (at, _, __, ___, isOpen, seconds) => {
    expect(
      await query(
        `select is_business_hours as is_open, user_reply_business_seconds as seconds from reporting.fct_sms_turn where conversation_id = $1`,
        100 + at,
      ),
    ).toEqual([{ is_open: isOpen, seconds }]);
  });

  test('its medians take only the turns that have some, beside their n', async () => {
    // 0, 0, 1, 60, 600 and 28,800 s, of nine replies.
    expect(
      await query(
        `select count(user_reply_seconds)::integer as replies, count(user_reply_business_seconds)::integer as measured,
           percentile_cont(0.5) within group (order by user_reply_business_seconds) as half,
           count(*) filter (where is_business_hours)::integer as open
         from reporting.fct_sms_turn where conversation_id = any($1)`,
        ids,
      ),
    ).toEqual([{ replies: 9, measured: 6, half: 30.5, open: opens(true) }]);
  });
});

describe('conversation_state', () => {
  test('lists who waits, and who is not known to be resolved since', async () => {
    await thread(10, [['2026-03-13T15:00:00Z', 'in']]);
    await thread(11, [['2026-03-13T15:00:00Z', 'in']]);
    await thread(12, [['2026-03-13T15:00:00Z', 'in']]);
    await query(
      `update warehouse.sms_conversations set is_resolved = true, resolved_at = '2026-03-13T16:00:00Z' where conversation_id = 11`,
    );
    await query(
      `update warehouse.sms_conversations set is_resolved = true, resolved_at = '2026-03-13T14:00:00Z' where conversation_id = 12`,
    );
    await facts.drain();
    expect(
      await lines(
        `select conversation_id::integer, waiting_since_at, waiting_count, assigned_user_id
         from reporting.conversation_state where waiting_since_at > '2026-03-01' order by 1`,
      ),
    ).toEqual([
      '2 | 2026-03-07T15:00:00Z | 1 | -',
      '10 | 2026-03-13T15:00:00Z | 1 | -',
      '12 | 2026-03-13T15:00:00Z | 1 | -',
    ]);
  });

  test('loses who was erased', async () => {
    await query('delete from warehouse.sms_messages where conversation_id = 10');
    await query('delete from warehouse.sms_conversations where conversation_id = 10');
    await facts.drain();
    expect(await query('select from reporting.conversation_state where conversation_id = 10')).toEqual([]);
    expect(await turns(10)).toEqual([]);
  });
});

test('a reaction is no turn, and nobody waits because of one', async () => {
  await thread(20, [
    ['2026-03-12T15:00:00Z', 'in'],
    ['2026-03-12T15:01:00Z', 'out', { sent_by: 1 }],
    ['2026-03-12T15:02:00Z', 'in', { is_reaction: true }],
    ['2026-03-12T15:03:00Z', 'in', { is_reaction: true }],
  ]);
  await thread(21, [
    ['2026-03-12T15:00:00Z', 'in'],
    ['2026-03-12T15:01:00Z', 'in', { is_reaction: true }],
  ]);
  await facts.drain();
  expect(await turns(20)).toEqual(['1 | 1 | user | 60 | 60 | 60 | 1']);
  expect(
    await query(
      `select conversation_id::integer as id, waiting_count from reporting.conversation_state
       where conversation_id in (20, 21) order by 1`,
    ),
  ).toEqual([
    { id: 20, waiting_count: null },
    { id: 21, waiting_count: 1 },
  ]);
});
