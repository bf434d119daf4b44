import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** A text of a user after a missed call, with what became of it. */
const cases: readonly (readonly [object, string])[] = [
  [{}, 'no_receipt'],
  [{ delivery_status: 'delivered' }, 'delivered'],
  [{ delivery_status: 'sent' }, 'in_flight'],
  [{ delivery_status: 'martian' }, 'unmapped'],
  [{ delivery_status: 'undelivered' }, 'failed'],
  [{ delivery_status: ' UNDELIVERED ', delivery_error: 'landline' }, 'failed'],
  [{ delivery_status: 'failed' }, 'failed'],
  [{ delivery_status: 'rejected' }, 'failed'],
  [{ delivery_status: 'Undelivered: landline or unreachable carrier' }, 'failed'],
  [{ delivery_status: 'not_delivered' }, 'failed'],
  [{ delivery_status: 'carrier_rejected' }, 'failed'],
  [{ delivery_status: 'landline' }, 'failed'],
  [{ delivery_status: 'invalid number' }, 'failed'],
  [{ delivery_status: 'delivery-failed' }, 'failed'],
  [{ delivery_status: 'martian', delivery_error: '30006' }, 'failed'],
  [{ delivery_error: 'Landline or unreachable carrier' }, 'failed'],
  [{ is_blocked: true, delivery_status: 'delivered' }, 'blocked'],
];
const isLost = (delivery: string) => delivery === 'failed' || delivery === 'blocked';

beforeAll(async () => {
  await facts.user(1, ['201']);
  for (const [at, [values]] of cases.entries()) {
    const number = `1555100${String(at + 1).padStart(4, '0')}`;
    const callId = `${1772445600 + at}.1`;
    await facts.call({
      call_id: callId,
      started_at: '2026-03-02T10:00:00Z',
      status: 'missed',
      external_number: number,
    });
    await facts.insert('warehouse.transcripts', { transcript_id: at + 1, call_id: callId, is_action_required: true });
    await facts.thread(at + 1, [
      ['2026-03-02T09:59:00Z', 'in'],
      ['2026-03-02T11:00:00Z', 'out', { sent_by: 1, ...values }],
    ]);
  }
  // A group text that failed reaches none of its members.
  await facts.call({
    call_id: '1772449000.1',
    started_at: '2026-03-02T10:00:00Z',
    status: 'missed',
    external_number: '15553330001',
  });
  await facts.thread(90, [['2026-03-02T11:00:00Z', 'out', { sent_by: 1, delivery_status: 'undelivered' }]], {
    ...{ number: '15553330002', participants_key: '15553330001,15553330002' },
  });
  await query(
    `update warehouse.sms_conversations set participants = '{15553330001,15553330002}' where conversation_id = 90`,
  );
  // The customer writes again after a text that failed.
  await facts.thread(91, [
    ['2026-03-02T11:00:00Z', 'in'],
    ['2026-03-02T11:05:00Z', 'out', { sent_by: 1, delivery_status: 'undelivered' }],
    ['2026-03-02T11:10:00Z', 'in'],
    ['2026-03-02T11:20:00Z', 'out', { sent_by: 1 }],
  ]);
  await facts.drain();
});

test.each(cases.map((each, at) => [JSON.stringify(each[0]), each[1], at + 1] as const))(
  'a text with %s (%s) ends a turn unless it reached nobody',
  async (_, delivery, nth) => {
    const [turn] = await query(
      `select first_reply_kind, user_reply_seconds from reporting.fct_sms_turn where conversation_id = $1`,
      nth,
    );
    const reply = { first_reply_kind: 'user', user_reply_seconds: 3_660 };
    expect(turn).toEqual(isLost(delivery) ? { first_reply_kind: null, user_reply_seconds: null } : reply);
  },
);

test('a turn goes on over a text that failed', async () => {
  const turns = () =>
    query(
      `select inbound_count, user_reply_seconds from reporting.fct_sms_turn where conversation_id = 91 order by turn_number`,
    );
  expect(await turns()).toEqual([{ inbound_count: 2, user_reply_seconds: 1_200 }]);
  await query(
    `update warehouse.sms_messages set delivery_status = 'delivered' where conversation_id = 91 and delivery_status is not null`,
  );
  await facts.drain();
  expect(await turns()).toEqual([
    { inbound_count: 1, user_reply_seconds: 300 },
    { inbound_count: 1, user_reply_seconds: 600 },
  ]);
});

test.each(cases.map(([values, delivery], at) => [JSON.stringify(values), delivery, at + 1] as const))(
  'a text with %s is %s',
  async (_, delivery, nth) => {
    const callId = `${1772445600 + nth - 1}.1`;
    const [found] = await query(
      `select m.delivery_class, c.returned_by, a.followed_up_by, a.is_open
       from reporting.fct_sms_message m, reporting.missed_calls c, reporting.fct_action a
       where m.conversation_id = $1 and m.direction = 'out' and c.call_id = $2 and a.call_id = $2`,
      nth,
      callId,
    );
    const returned = isLost(delivery) ? null : 'text';
    expect(found).toEqual({
      ...{ delivery_class: delivery, returned_by: returned, followed_up_by: returned },
      is_open: isLost(delivery),
    });
  },
);

test('a group text that failed returns no call either', async () => {
  expect(await value(`select returned_by from reporting.missed_calls where call_id = '1772449000.1'`)).toBe(null);
});

test('a failure that is reported later takes the return away, and a delivery gives it back', async () => {
  const lost = cases.filter(([, delivery]) => isLost(delivery)).length;
  const counts = async () => {
    await facts.drain();
    return value('select count(*)::integer from reporting.missed_calls where is_unreturned');
  };
  expect(await counts()).toBe(lost + 1);
  await query(
    `update warehouse.sms_messages set delivery_status = 'undelivered' where conversation_id = 2 and direction = 'out'`,
  );
  expect(await counts()).toBe(lost + 2);
  await query(
    `update warehouse.sms_messages set delivery_status = 'delivered' where conversation_id = 2 and direction = 'out'`,
  );
  expect(await counts()).toBe(lost + 1);
});
