import { describe, expect, test } from 'vitest';
import { notFound, type Reply } from '../world/service.ts';
import { line, openReaders } from './readers.ts';
import { message, type ShownMessage } from './thread-service.ts';

const { query, openReader, tell } = await openReaders();

const shows = (...messages: readonly ShownMessage[]): Reply => ({ data: { messages, markedRead: false } });
const keyOf = (...group: readonly string[]) => `${line}/${group[0]}/${group.join(',')}`;

/** The messages that are held of a number, each with the participants of its conversation. */
const held = async (number: string) =>
  (
    await query<{ held: string }>(
      `select concat_ws(' ', m.message_id, nullif(c.participants_key, '')) as held from warehouse.sms_messages m
       join warehouse.sms_conversations c using (conversation_id)
       where c.number = $1 and m.deleted_at is null order by m.message_id`,
      number,
    )
  ).map((row) => row.held);

test('asks for a group by its participants, and keeps it apart from the thread of two', async () => {
  const group = ['15557770001', '15557770002'] as const;
  const { service, read } = await openReader();
  service.answer = ({ query }) =>
    shows(query.get('groupParticipants') === null ? message(1) : message(2, { groupParticipants: group }));
  await read('thread', `${line}/${group[0]}`);
  await read('thread', keyOf(...group));
  expect(service.asked.map(({ query }) => query.get('groupParticipants'))).toContain(group.join());
  expect(await held(group[0])).toEqual(['1', `2 ${group}`]);
});

test.each<[string, string, object, Record<string, string[]>, string?]>([
  [
    'listed in a thread of two points at the group',
    '15557780001',
    { groupParticipants: ['15557780001', '15557780002', line], from: '15557780002' },
    { 15557780001: ['5 15557780001,15557780002', '6'] },
    keyOf('15557780001', '15557780002'),
  ],
  [
    'that names its other participants alone is none of the thread of two',
    '15557750002',
    { groupParticipants: ['15557750001'], from: '15557750002' },
    { 15557750001: ['5 15557750001,15557750002'], 15557750002: ['6'] },
  ],
])('a group message %s', async (_, number, more, expected, pointsAt) => {
  const { service, due, read } = await openReader();
  service.answer = () => shows(message(5, more), message(6));
  await read('thread', `${line}/${number}`);
  for (const [of, messages] of Object.entries(expected)) expect(await held(of)).toEqual(messages);
  if (pointsAt !== undefined) expect(due.map(({ key }) => key)).toContain(pointsAt);
});

test.each([
  ['two', ['15557740001', '15557740002']],
  ['three', ['15557740003', '15557740004', '15557740005']],
])('a message of a group of %s that names whom else it reached alone is of them and its sender', async (_, group) => {
  const [sender, other] = group as [string, string];
  const { service, read } = await openReader();
  service.answer = () => shows(message(7, { groupParticipants: group.slice(1), from: sender }));
  await read('thread', `${line}/${other}`);
  expect([await held(other), await held(sender)]).toEqual([[], [`7 ${group}`]]);
});

test('a later message of a group that is held points at the group until it is held too', async () => {
  const group = ['15557790001', '15557790002'] as const;
  const { service, read, readIfPending } = await openReader();
  const shown = [5];
  service.answer = () => shows(...shown.map((id) => message(id, { groupParticipants: group, from: group[0] })));
  await read('thread', keyOf(...group));
  shown.push(6);
  await read('thread', `${line}/${group[0]}`);
  expect(await readIfPending('thread', keyOf(...group))).toBe('mirrored');
  expect(await held(group[0])).toEqual([`5 ${group}`, `6 ${group}`]);
  await read('thread', `${line}/${group[0]}`);
  expect(await readIfPending('thread', keyOf(...group))).toBe('not_pending');
});

describe.each([
  ['does not list it', shows(), ['15557760001', '15557760002']],
  ['is not found', notFound, ['15557760003', '15557760004']],
] as const)('where the thread of two %s', (_, pair, group) => {
  test('a text of a held group is read, though its event names the sender and the line alone', async () => {
    const [first, party] = group;
    const [key, groupKey] = [`${line}/${party}`, keyOf(...group)];
    const { service, due, read, look, readIfPending } = await openReader();
    const shown = [message(5, { groupParticipants: group })];
    service.answer = ({ query }) => (query.get('groupParticipants') === null ? pair : shows(...shown));
    await read('thread', groupKey);
    shown.push(message(6, { groupParticipants: group, from: party }));
    await tell('AccountSMS', { kind: 'thread', key, messageId: '6' });
    await readIfPending('thread', key);
    expect(due.map((target) => target.key)).toContain(groupKey);
    expect(await readIfPending('thread', groupKey)).toBe('mirrored');
    expect(await held(first)).toEqual([`5 ${group}`, `6 ${group}`]);
    due.length = 0;
    await look('thread', key);
    expect(
      due.map((target) => target.key),
      'once an event',
    ).not.toContain(groupKey);
  });
});
