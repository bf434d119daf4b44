import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { type Desk, openDesk } from './desk.ts';
import { message, messages, type ShownMessage, type ThreadHabits, threadService } from './thread-service.ts';

const database = await migratedDatabase();
const line = '15550000001';
let parties = 2;

afterAll(() => database[Symbol.asyncDispose]());

/** A desk whose service shows one thread that no other test reads. */
async function withThread(start: readonly ShownMessage[], habits: ThreadHabits = {}) {
  parties += 1;
  const key = `${line}/1555${String(parties).padStart(7, '0')}`;
  const desk = await openDesk(database);
  const held = { messages: [...start] };
  const behave = (as: ThreadHabits) => {
    desk.service.answer = threadService(() => held.messages, as);
  };
  behave(habits);
  return { desk, key, thread: held, behave };
}

async function mirrored(key: string, where = 'deleted_at is null'): Promise<number[]> {
  const [, number] = key.split('/');
  const rows = await database.query<{ message_id: string }>(
    `select message_id from warehouse.sms_messages where number = $1 and ${where} order by message_id`,
    number,
  );
  return rows.map((row) => Number(row.message_id));
}

const ids = (list: readonly ShownMessage[]) => list.map(({ id }) => id);

/** So that a page that is not the last is known from one that is. */
async function learnLongPages(desk: Desk): Promise<void> {
  const { answer } = desk.service;
  desk.service.answer = threadService(() => messages(250));
  await desk.read('thread', `${line}/15559999999`);
  desk.service.answer = answer;
}

describe.each([
  { order: 'newest first' },
  { order: 'oldest first' },
  { order: 'newest first, shuffled inside pages' },
] as const)('a service that lists $order', ({ order }) => {
  test('has a thread of many pages mirrored whole', async () => {
    const { desk, key, thread } = await withThread(messages(130), { order, limit: 25 });
    await desk.readAll('thread', key, 3);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  });

  test('has a message that arrived later mirrored', async () => {
    const { desk, key, thread } = await withThread(messages(130), { order, limit: 25 });
    await desk.readAll('thread', key, 3);
    thread.messages.push(message(131));
    await desk.readAll('thread', key, 3);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  });

  test('has its deleted messages marked deleted, and only those', async () => {
    const { desk, key, thread } = await withThread(messages(20), { order, limit: 25 });
    await desk.read('thread', key);
    thread.messages = thread.messages.filter(({ id }) => id !== 7 && id !== 20);
    await desk.read('thread', key);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
    expect(await mirrored(key, 'deleted_at is not null')).toEqual([7, 20]);
  });
});

test.each([10, 25, 30, 1])('learns a limit of %i from refusals, and remembers it', async (limit) => {
  const { desk, key, thread } = await withThread(messages(31), { limit });
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
  const before = desk.service.asked.length;
  await desk.read('thread', key);
  const asked = desk.service.asked.slice(before).map(({ query }) => Number(query.get('limit')));
  expect(Math.max(...asked)).toBeLessThanOrEqual(limit);
});

test('deletes nothing when a service begins to allow only smaller pages', async () => {
  const { desk, key, thread, behave } = await withThread(messages(60), { limit: 100 });
  await learnLongPages(desk);
  await desk.read('thread', key);
  behave({ limit: 25 });
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('deletes nothing when a page in the middle is shorter than the others', async () => {
  const { desk, key, thread } = await withThread(messages(90), { limit: 30 });
  await desk.read('thread', key);
  const whole = threadService(() => thread.messages, { limit: 30 });
  // Services that page first and filter afterwards show such pages.
  desk.service.answer = (asked) => {
    const reply = whole(asked);
    if (!('data' in reply)) return reply;
    const data = reply.data as { messages: ShownMessage[] };
    return { data: { ...data, messages: data.messages.filter(({ id }) => id !== 80) } };
  };
  await desk.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null and message_id <> 80')).toEqual([]);
});

test('a message inserted between pages shifts nothing out of the read', async () => {
  const inserted = message(200);
  const { desk, key, thread } = await withThread(messages(60), {
    limit: 25,
    afterPage: (page) => void (page === 3 && thread.messages.push(inserted)),
  });
  await desk.read('thread', key);
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('a message deleted between pages loses no other', async () => {
  const { desk, key, thread } = await withThread(messages(60), {
    limit: 25,
    afterPage(page) {
      if (page === 3) thread.messages = thread.messages.filter(({ id }) => id !== 59);
    },
  });
  await desk.read('thread', key);
  expect(await mirrored(key, 'deleted_at is null and message_id <> 59')).toEqual(ids(thread.messages));
});

test('a list that kept shifting is read again later, and deletes nothing', async () => {
  const { desk, key, thread, behave } = await withThread(messages(60), { limit: 25 });
  await desk.read('thread', key);
  behave({ limit: 25, afterPage: () => void thread.messages.pop() });
  thread.messages.push(...messages(40, 100));
  await desk.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null')).toEqual([]);
  expect(await database.value(`select dirty_version > clean_version from ops.sync_targets where key = $1`, key)).toBe(
    true,
  );
});

test('what a shifting list left out is mirrored once it stands still', async () => {
  const { desk, key, thread, behave } = await withThread(messages(20), { limit: 10 });
  await desk.read('thread', key);
  thread.messages.push(...messages(60, 100));
  behave({ limit: 10, afterPage: () => void thread.messages.splice(-3) });
  await desk.read('thread', key);
  thread.messages = [...messages(20), ...messages(60, 100)];
  behave({ limit: 10 });
  await desk.readAll('thread', key, 3);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('a later message is found behind a page of messages of one moment, oldest first', async () => {
  const sentAt = '2026-04-21T10:00:00Z';
  const { desk, key, thread } = await withThread(messages(12, 1, { sentAt }), { order: 'oldest first', limit: 5 });
  await desk.read('thread', key);
  thread.messages.push(message(500));
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

describe('an offset that is not heeded', () => {
  test('mirrors the first page and deletes nothing', async () => {
    const { desk, key } = await withThread(messages(60), { heedsOffset: false, limit: 25 });
    await desk.read('thread', key);
    expect(await mirrored(key)).toEqual(ids(messages(25, 36)));
  });

  test('costs a thread of one message only a few requests', async () => {
    const { desk, key } = await withThread(messages(1), { heedsOffset: false });
    await desk.read('thread', key);
    expect(desk.service.asked.length).toBeLessThan(10);
    expect(await mirrored(key)).toEqual([1]);
  });
});

test('deletes nothing while a sibling key stands beside the data', async () => {
  const { desk, key, thread, behave } = await withThread(messages(20));
  await desk.read('thread', key);
  behave({ beside: { next: 'cursor' } });
  thread.messages = thread.messages.slice(5);
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(messages(20)));
});

test('a message that comes back is no longer deleted', async () => {
  const { desk, key, thread } = await withThread(messages(20));
  await desk.read('thread', key);
  thread.messages = messages(19);
  await desk.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null')).toEqual([20]);
  thread.messages = messages(20);
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(messages(20)));
});

test('a thread that was emptied keeps its row, marked deleted', async () => {
  const { desk, key, thread } = await withThread(messages(3));
  await learnLongPages(desk);
  await desk.read('thread', key);
  thread.messages = [];
  await desk.read('thread', key);
  expect(await mirrored(key)).toEqual([]);
  const [, number] = key.split('/');
  expect(
    await database.value('select deleted_at is not null from warehouse.sms_conversations where number = $1', number),
  ).toBe(true);
});

test('an empty thread that was never seen leaves no row', async () => {
  const { desk, key } = await withThread([]);
  expect(await desk.read('thread', key)).toBe('mirrored');
  const [, number] = key.split('/');
  expect(
    await database.value('select count(*)::integer from warehouse.sms_conversations where number = $1', number),
  ).toBe(0);
});

test('asks for a group by its participants, and keeps it apart from the thread of two', async () => {
  const group = ['15557770001', '15557770002'];
  const desk = await openDesk(database);
  desk.service.answer = ({ query }) => {
    const isGroup = query.get('groupParticipants') !== null;
    return {
      data: { messages: isGroup ? [message(2, { groupParticipants: group })] : [message(1)], markedRead: false },
    };
  };
  await desk.read('thread', `${line}/15557770001`);
  await desk.read('thread', `${line}/15557770001/${group.join(',')}`);
  expect(desk.service.asked.map(({ query }) => query.get('groupParticipants'))).toContain(group.join(','));
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
  const desk = await openDesk(database);
  desk.service.answer = () => ({
    data: { messages: [message(5, { groupParticipants: [...group, line] }), message(6)] },
  });
  await desk.read('thread', `${line}/15557780001`);
  expect(desk.rings.map(({ kind, key }) => `${kind} ${key}`)).toContain(
    `thread ${line}/15557780001/${group.join(',')}`,
  );
  expect(await mirrored(`${line}/15557780001`)).toEqual([6]);
});

test('never marks what it reads as read', async () => {
  const { desk, key } = await withThread(messages(60), { limit: 25 });
  await desk.read('thread', key);
  expect(desk.service.asked.filter(({ query }) => query.has('markRead'))).toEqual([]);
});
