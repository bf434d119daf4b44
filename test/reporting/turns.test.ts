import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';
import { line, stateThreads } from './threads.ts';

const facts = await factsDatabase();
const { query, thread } = facts;
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
  query(
    `select turn_number, is_session_start, is_last, inbound_count, first_reply_kind, reply_seconds, user_reply_seconds,
       user_reply_business_seconds, user_key::integer as by
     from reporting.fct_sms_turn where conversation_id = $1 order by 1`,
    conversation,
  );

describe('a turn', () => {
  test('is replied to by a person even when one of an unknown sender came first', async () => {
    expect(await turns(1)).toEqual([
      {
        turn_number: 1,
        is_session_start: true,
        is_last: false,
        inbound_count: 1,
        first_reply_kind: 'unknown',
        reply_seconds: 5,
        user_reply_seconds: 1200,
        user_reply_business_seconds: 1200,
        by: 1,
      },
      {
        turn_number: 2,
        is_session_start: false,
        is_last: true,
        inbound_count: 1,
        first_reply_kind: 'user',
        reply_seconds: 600,
        user_reply_seconds: 600,
        user_reply_business_seconds: 600,
        by: 1,
      },
    ]);
  });

  test('begins again after a silence, so that an old "thanks" does not wait for days', async () => {
    const none = {
      first_reply_kind: null,
      reply_seconds: null,
      user_reply_seconds: null,
      user_reply_business_seconds: null,
      by: null,
    };
    expect(await turns(2)).toEqual([
      {
        turn_number: 1,
        is_session_start: true,
        is_last: false,
        inbound_count: 1,
        first_reply_kind: 'user',
        reply_seconds: 60,
        user_reply_seconds: 60,
        user_reply_business_seconds: 60,
        by: 1,
      },
      { turn_number: 2, is_session_start: false, is_last: false, inbound_count: 1, ...none },
      { turn_number: 3, is_session_start: true, is_last: true, inbound_count: 1, ...none },
    ]);
  });

  test('is replied to after a weekend, in business time within the hour', async () => {
    expect(await turns(3)).toMatchObject([
      {
        reply_seconds: (64 * 60 + 45 - 60) * 60,
        user_reply_seconds: (64 * 60 + 45 - 60) * 60,
        user_reply_business_seconds: 45 * 60,
      },
    ]);
  });

  test('is not ended by a blocked text, nor by a scheduled one', async () => {
    expect(await turns(4)).toMatchObject([{ is_last: true, first_reply_kind: null }]);
  });

  test('needs a text of the customer', async () => {
    expect(await turns(6)).toEqual([]);
  });
});

test('a turn is replied to when the reply comes days later', async () => {
  expect(await turns(4)).toMatchObject([{ user_reply_seconds: null }]);
  await facts.insert('warehouse.sms_messages', {
    ...{ conversation_id: 4, message_id: 4900, line, number: '15551000004', direction: 'out' },
    ...{ sent_at: '2026-03-11T15:00:00Z', sent_by: 1, body: 'text' },
  });
  await facts.drain();
  expect(await turns(4)).toMatchObject([{ user_reply_seconds: 86_400, user_reply_business_seconds: 8 * 3600 }]);
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
      await query(
        `select conversation_id::integer, waiting_since_at, waiting_count, assigned_user_id
         from reporting.conversation_state where waiting_since_at > '2026-03-01' order by 1`,
      ),
    ).toEqual([
      {
        conversation_id: 2,
        waiting_since_at: new Date('2026-03-07T15:00:00Z'),
        waiting_count: 1,
        assigned_user_id: null,
      },
      {
        conversation_id: 10,
        waiting_since_at: new Date('2026-03-13T15:00:00Z'),
        waiting_count: 1,
        assigned_user_id: null,
      },
      {
        conversation_id: 12,
        waiting_since_at: new Date('2026-03-13T15:00:00Z'),
        waiting_count: 1,
        assigned_user_id: null,
      },
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
  expect(await turns(20)).toMatchObject([{ is_last: true, inbound_count: 1, reply_seconds: 60 }]);
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
