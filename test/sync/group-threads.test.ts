import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { notFound } from '../world/service.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import { openReaderHarness } from './reader-harness.ts';
import { message } from './thread-service.ts';

const database = await migratedDatabase();
const line = '15550000001';
const tell = deliveryAcceptor(database);
afterAll(() => database[Symbol.asyncDispose]());

async function messagesWith(number: string): Promise<string[]> {
  const rows = await database.query<{ message_id: string }>(
    'select message_id from warehouse.sms_messages where number = $1 and deleted_at is null order by message_id',
    number,
  );
  return rows.map((row) => row.message_id);
}

test('asks for a group by its participants, and keeps it apart from the thread of two', async () => {
  const group = ['15557770001', '15557770002'];
  const harness = await openReaderHarness(database);
  harness.service.answer = ({ query }) => {
    const isGroup = query.get('groupParticipants') !== null;
    return {
      data: { messages: isGroup ? [message(2, { groupParticipants: group })] : [message(1)], markedRead: false },
    };
  };
  await harness.read('thread', `${line}/15557770001`);
  await harness.read('thread', `${line}/15557770001/${group.join(',')}`);
  expect(harness.service.asked.map(({ query }) => query.get('groupParticipants'))).toContain(group.join(','));
  expect(
    await database.query(
      `select c.participants_key, m.message_id from warehouse.sms_conversations c
       join warehouse.sms_messages m using (conversation_id) where c.number = $1 order by 1`,
      group[0],
    ),
  ).toEqual([
    { participants_key: '', message_id: '1' },
    { participants_key: group.join(','), message_id: '2' },
  ]);
});

test('a group message listed in a thread of two points at the group', async () => {
  const group = ['15557780001', '15557780002'];
  const harness = await openReaderHarness(database);
  harness.service.answer = () => ({
    data: { messages: [message(5, { groupParticipants: [...group, line], from: group[1] }), message(6)] },
  });
  await harness.read('thread', `${line}/15557780001`);
  expect(harness.due.map(({ kind, key }) => `${kind} ${key}`)).toContain(
    `thread ${line}/15557780001/${group.join(',')}`,
  );
  expect(await messagesWith('15557780001')).toEqual(['5', '6']);
  const apart = await database.query<{ participants_key: string; message_id: string }>(
    `select c.participants_key, m.message_id from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
     where c.number = $1 order by m.message_id`,
    '15557780001',
  );
  expect(apart.map((row) => row.participants_key)).toEqual([group.join(','), '']);
});

test('a group message that names its other participants alone is none of the thread of two', async () => {
  const harness = await openReaderHarness(database);
  harness.service.answer = () => ({
    data: { messages: [message(5, { groupParticipants: ['15557750001'], from: '15557750002' }), message(6)] },
  });
  await harness.read('thread', `${line}/15557750002`);
  expect(await messagesWith('15557750002')).toEqual(['6']);
  expect(await messagesWith('15557750001')).toEqual(['5']);
});

test.each([
  ['two', ['15557740001', '15557740002']],
  ['three', ['15557740003', '15557740004', '15557740005']],
])('a message of a group of %s that names whom else it reached alone is of them and its sender', async (_, group) => {
  const [sender, other] = group as [string, string];
  const harness = await openReaderHarness(database);
  const shown = message(7, { groupParticipants: group.slice(1), from: sender });
  harness.service.answer = () => ({ data: { messages: [shown], markedRead: false } });
  await harness.read('thread', `${line}/${other}`);
  expect(await messagesWith(other)).toEqual([]);
  expect(
    await database.query(
      `select c.participants_key from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
       where c.number = $1`,
      sender,
    ),
  ).toEqual([{ participants_key: group.join(',') }]);
});

test('a later message of a group that is held points at the group until it is held too', async () => {
  const group = ['15557790001', '15557790002'];
  const groupKey = `${line}/15557790001/${group.join(',')}`;
  const harness = await openReaderHarness(database);
  const shown = [message(5, { groupParticipants: group, from: group[0] })];
  harness.service.answer = () => ({ data: { messages: shown, markedRead: false } });
  await harness.read('thread', groupKey);
  shown.push(message(6, { groupParticipants: group, from: group[0] }));
  await harness.read('thread', `${line}/15557790001`);
  expect(await harness.readIfPending('thread', groupKey)).toBe('mirrored');
  expect(await messagesWith('15557790001')).toEqual(['5', '6']);
  await harness.read('thread', `${line}/15557790001`);
  expect(await harness.readIfPending('thread', groupKey)).toBe('not_pending');
});

describe.each([
  ['does not list it', { data: { messages: [], markedRead: false } }, ['15557760001', '15557760002']],
  ['is not found', notFound, ['15557760003', '15557760004']],
] as const)('where the thread of two %s', (_, pair, group) => {
  test('a text of a held group is read, though its event names the sender and the line alone', async () => {
    const [first, party] = group;
    const groupKey = `${line}/${first}/${group.join(',')}`;
    const harness = await openReaderHarness(database);
    const shown = [message(5, { groupParticipants: group })];
    harness.service.answer = ({ query }) =>
      query.get('groupParticipants') === null ? pair : { data: { messages: shown, markedRead: false } };
    await harness.read('thread', groupKey);
    shown.push(message(6, { groupParticipants: group, from: party }));
    const key = `${line}/${party}`;
    await tell('AccountSMS', { kind: 'thread', key, messageId: '6' });
    await harness.readIfPending('thread', key);
    expect(harness.due.map((target) => target.key)).toContain(groupKey);
    expect(await harness.readIfPending('thread', groupKey)).toBe('mirrored');
    expect(await messagesWith(first)).toEqual(['5', '6']);
    const enqueued = harness.due.length;
    await harness.pass({ kind: 'thread', key });
    await harness.readIfPending('thread', key);
    expect(
      harness.due.slice(enqueued).map((target) => target.key),
      'once an event',
    ).not.toContain(groupKey);
  });
});
