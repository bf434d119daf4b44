import { expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

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

test('a text that failed or was blocked ends no turn, returns no call and follows nothing up; every other one does', async () => {
  await using facts = await factsDatabase();
  await facts.user(1, ['201']);
  for (const [at, [values]] of cases.entries()) {
    const id = 10 + at;
    await facts.call({ call_id: `1.${id}`, started_at: '10:00', status: 'missed', external_number: `155510000${id}` });
    await facts.insert('warehouse.transcripts', { transcript_id: id, call_id: `1.${id}`, is_action_required: true });
    await facts.thread(id, [
      ['09:59', 'in'],
      ['11:00', 'out', { sent_by: 1, ...values }],
    ]);
  }
  await facts.drain();
  const found = await facts.lines(`
    select m.delivery_class, t.first_reply_kind, t.user_reply_seconds, c.returned_by, a.followed_up_by, a.is_open
    from reporting.fct_sms_message m join reporting.fct_sms_turn t using (conversation_id)
      join reporting.missed_calls c on c.external_number = m.number join reporting.fct_action a using (call_id)
    where m.direction = 'out' order by m.conversation_id`);
  const isLost = (delivery: string) => delivery === 'failed' || delivery === 'blocked';
  const rest = (delivery: string) => (isLost(delivery) ? '- | - | - | - | true' : 'user | 3660 | text | text | false');
  expect(found).toEqual(cases.map(([, delivery]) => `${delivery} | ${rest(delivery)}`));
});

test('a turn goes on over a text that failed', async () => {
  await using facts = await factsDatabase();
  const failed = { sent_by: 1, delivery_status: 'undelivered' };
  await facts.thread(1, [
    ['11:00', 'in'],
    ['11:05', 'out', failed],
    ['11:10', 'in'],
    ['11:20', 'out', { sent_by: 1 }],
  ]);
  await facts.drain();
  const turns = 'select inbound_count, user_reply_seconds from reporting.fct_sms_turn order by turn_number';
  await facts.expectRows(turns).toEqual(['2 | 1200']);
  await facts.query(
    `update warehouse.sms_messages set delivery_status = 'delivered' where delivery_status is not null`,
  );
  await facts.drain();
  await facts.expectRows(turns).toEqual(['1 | 300', '1 | 600']);
});

test('a failure that is reported later takes the return away, and a delivery gives it back; a group is no exception', async () => {
  await using facts = await factsDatabase();
  const members = ['15553330001', '15553330002'];
  await facts.call({ call_id: '1.1', started_at: '10:00', status: 'missed', external_number: members[0] });
  await facts.call({ call_id: '1.2', started_at: '10:00', status: 'missed', external_number: '15551000002' });
  for (const [id, values] of [
    [1, { number: members[1], participants_key: members.join(',') }],
    [2, {}],
  ] as const) {
    await facts.thread(id, [['11:00', 'out', { sent_by: 1, delivery_status: 'undelivered' }]], values);
  }
  await facts.query('update warehouse.sms_conversations set participants = $1 where conversation_id = 1', members);
  const returned = async (status: string, by: string) => {
    await facts.query('update warehouse.sms_messages set delivery_status = $1', status);
    await facts.drain();
    await facts
      .expectRows('select call_id, returned_by from reporting.missed_calls order by 1')
      .toEqual([`1.1 | ${by}`, `1.2 | ${by}`]);
  };
  await returned('delivered', 'text');
  await returned('undelivered', '-');
  await returned('delivered', 'text');
});
