import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { notFound, type Reply } from '../world/service.ts';
import { openReaderHarness, type ReaderHarness } from './reader-harness.ts';
import { threadsIn } from './thread-harness.ts';
import { message, messages, type ShownMessage, threadService } from './thread-service.ts';

const database = await migratedDatabase();
const { line, withThread, mirrored } = threadsIn(database);

afterAll(() => database[Symbol.asyncDispose]());

const refused: Reply = { error: 'invalid_request', status: 400 };
const ids = (list: readonly ShownMessage[]) => list.map(({ id }) => id);

/** So that a page that is not the last is known from one that is. */
async function learnLongPages(harness: ReaderHarness): Promise<void> {
  const { answer } = harness.service;
  harness.service.answer = threadService(() => messages(250));
  await harness.read('thread', `${line}/15559999999`);
  harness.service.answer = answer;
}

describe.each([
  { order: 'newest first' },
  { order: 'oldest first' },
  { order: 'newest first, shuffled inside pages' },
] as const)('a service that lists $order', ({ order }) => {
  test('has a thread of many pages mirrored whole', async () => {
    const { harness, key, thread } = await withThread(messages(130), { order, limit: 25 });
    await harness.readAll('thread', key, 3);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  });

  test('has its deleted messages marked deleted, and only those', async () => {
    const { harness, key, thread } = await withThread(messages(20), { order, limit: 25 });
    await harness.read('thread', key);
    thread.messages = thread.messages.filter(({ id }) => id !== 7 && id !== 20);
    await harness.read('thread', key);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
    expect(await mirrored(key, 'deleted_at is not null')).toEqual([7, 20]);
  });
});

test.each([10, 25, 30, 1])('learns a limit of %i from refusals, and remembers it', async (limit) => {
  const { harness, key, thread } = await withThread(messages(31), { limit });
  await harness.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
  const before = harness.service.asked.length;
  await harness.read('thread', key);
  const asked = harness.service.asked.slice(before).map(({ query }) => Number(query.get('limit')));
  expect(Math.max(...asked)).toBeLessThanOrEqual(limit);
});

test('deletes nothing when a service begins to allow only smaller pages', async () => {
  const { harness, key, thread, behave } = await withThread(messages(60), { limit: 100 });
  await learnLongPages(harness);
  await harness.read('thread', key);
  behave({ limit: 25 });
  await harness.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('deletes nothing when a page in the middle is shorter than the others', async () => {
  const { harness, key, thread } = await withThread(messages(90), { limit: 30 });
  await harness.read('thread', key);
  const whole = threadService(() => thread.messages, { limit: 30 });
  // Services that page first and filter afterwards show such pages.
  harness.service.answer = (asked) => {
    const reply = whole(asked);
    if (!('data' in reply)) return reply;
    const data = reply.data as { messages: ShownMessage[] };
    return { data: { ...data, messages: data.messages.filter(({ id }) => id !== 80) } };
  };
  await harness.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null and message_id <> 80')).toEqual([]);
});

test('a message deleted between pages loses no other', async () => {
  const { harness, key, thread } = await withThread(messages(60), {
    limit: 25,
    afterPage(page) {
      if (page === 3) thread.messages = thread.messages.filter(({ id }) => id !== 59);
    },
  });
  await harness.read('thread', key);
  expect(await mirrored(key, 'deleted_at is null and message_id <> 59')).toEqual(ids(thread.messages));
});

test('a list that kept shifting is read again later, and deletes nothing', async () => {
  const { harness, key, thread, behave } = await withThread(messages(60), { limit: 25 });
  await harness.read('thread', key);
  behave({ limit: 25, afterPage: () => void thread.messages.pop() });
  thread.messages.push(...messages(40, 100));
  await harness.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null')).toEqual([]);
  expect(await database.value(`select dirty_version > clean_version from ops.sync_targets where key = $1`, key)).toBe(
    true,
  );
});

test('what a shifting list left out is mirrored once it stands still', async () => {
  const { harness, key, thread, behave } = await withThread(messages(20), { limit: 10 });
  await harness.read('thread', key);
  thread.messages.push(...messages(60, 100));
  behave({ limit: 10, afterPage: () => void thread.messages.splice(-3) });
  await harness.read('thread', key);
  thread.messages = [...messages(20), ...messages(60, 100)];
  behave({ limit: 10 });
  await harness.readAll('thread', key, 3);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('a later message is found behind a page of messages of one moment, oldest first', async () => {
  const sentAt = '2026-04-21T10:00:00Z';
  const { harness, key, thread } = await withThread(messages(12, 1, { sentAt }), { order: 'oldest first', limit: 5 });
  await harness.read('thread', key);
  thread.messages.push(message(500));
  await harness.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test.each([
  ['each its own moment', {}],
  ['one second in common', { sentAt: '2026-04-22T00:00:00Z' }],
])('messages that come in front while pages are read leave the read whole: %s', async (_moments, more) => {
  const { harness, key, thread } = await withThread(messages(130, 1, more), {
    limit: 25,
    afterPage: (page) => void (page % 2 === 1 && page < 6 && thread.messages.push(message(200 + page, more))),
  });
  await harness.read('thread', key);
  expect(harness.service.asked.filter(({ query }) => (query.get('offset') ?? '0') === '0').length).toBeLessThan(5);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
  const [, number] = key.split('/');
  expect(
    await database.value('select is_thread_complete from warehouse.sms_conversations where number = $1', number),
  ).toBe(true);
});

test('a page in the middle that comes empty once deletes nothing', async () => {
  const { harness, key, thread } = await withThread(messages(130));
  await harness.read('thread', key);
  thread.messages.push(...messages(130, 1_000));
  await database.query('update warehouse.sms_conversations set is_reread_owed = true');
  const whole = harness.service.answer;
  let isFirst = true;
  harness.service.answer = async (asked) => {
    const answer = await whole(asked);
    const isEmpty = isFirst && Number(asked.query.get('offset') ?? 0) > 0;
    if (isEmpty) isFirst = false;
    return isEmpty ? { data: { messages: [], markedRead: false } } : answer;
  };
  await harness.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(thread.messages));
});

test('a list in another order each time is never taken for whole, deletes nothing, and is asked for less and less', async () => {
  const { harness, key, thread, behave } = await withThread(messages(150));
  await harness.read('thread', key);
  behave({ order: 'another each time' });
  await database.query('update warehouse.sms_conversations set is_reread_owed = true');
  for (let time = 0; time < 5; time += 1) {
    await harness.read('thread', key);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  }
  const dueIn = () =>
    database.value('select extract(epoch from due_at - now())::float8 from ops.sync_targets where key = $1', key);
  expect(await dueIn()).toBeGreaterThan(50);
  await database.query(`update warehouse.sms_conversations set complete_read_at = now() - interval '1 hour'`);
  await harness.read('thread', key);
  expect(await dueIn()).toBeGreaterThan(800);
});

test('an offset beyond the end may be refused', async () => {
  for (const count of [1, 2, 130]) {
    const { harness, key, thread } = await withThread(messages(count), { beyond: refused });
    expect(await harness.read('thread', key)).toBe('mirrored');
    expect(await mirrored(key)).toEqual(ids(thread.messages));
    expect(harness.service.asked.length).toBeLessThan(5);
  }
});

describe.each([
  ['refused', refused],
  ['not found', notFound],
])('a page beyond the end of a list that became shorter, %s', (_, beyond) => {
  test.each(['newest first', 'oldest first'] as const)('says nothing of the thread, %s', async (order) => {
    const { harness, key, thread } = await withThread(messages(71), { order, limit: 25, beyond });
    expect(await harness.read('thread', key)).toBe('mirrored');
    for (const left of [messages(21, 51), [], messages(1, 200)]) {
      thread.messages = [...left, ...messages(1, 300 + left.length)];
      expect(await harness.read('thread', key)).toBe('mirrored');
      expect(await mirrored(key)).toEqual(ids(thread.messages));
    }
  });

  test('begins the read again while it is under way', async () => {
    const { harness, key, thread, behave } = await withThread(messages(70));
    const afterPage = (page: number) => {
      if (page === 1) thread.messages = messages(10, 61);
    };
    behave({ limit: 25, beyond, afterPage });
    expect(await harness.read('thread', key)).toBe('mirrored');
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  });
});

describe('an offset that is not heeded', () => {
  test('mirrors the first page and deletes nothing', async () => {
    const { harness, key } = await withThread(messages(60), { heedsOffset: false, limit: 25 });
    await harness.read('thread', key);
    expect(await mirrored(key)).toEqual(ids(messages(25, 36)));
  });

  test('costs a thread of one message only a few requests', async () => {
    const { harness, key } = await withThread(messages(1), { heedsOffset: false });
    await harness.read('thread', key);
    expect(harness.service.asked.length).toBeLessThan(10);
    expect(await mirrored(key)).toEqual([1]);
  });
});

test('a message that comes back is no longer deleted', async () => {
  const { harness, key, thread } = await withThread(messages(20));
  await harness.read('thread', key);
  thread.messages = messages(19);
  await harness.read('thread', key);
  expect(await mirrored(key, 'deleted_at is not null')).toEqual([20]);
  thread.messages = messages(20);
  await harness.read('thread', key);
  expect(await mirrored(key)).toEqual(ids(messages(20)));
});

test('a thread that was emptied keeps its row, marked deleted', async () => {
  const { harness, key, thread } = await withThread(messages(3));
  await learnLongPages(harness);
  await harness.read('thread', key);
  thread.messages = [];
  await harness.read('thread', key);
  expect(await mirrored(key), 'one empty answer is no proof').toEqual([1, 2, 3]);
  await harness.readAll('thread', key, 2);
  expect(await mirrored(key)).toEqual([]);
  const [, number] = key.split('/');
  expect(
    await database.value('select deleted_at is not null from warehouse.sms_conversations where number = $1', number),
  ).toBe(true);
});

test('a thread that is not found any more is marked deleted, and counts nothing', async () => {
  const { harness, key } = await withThread(messages(3));
  await harness.read('thread', key);
  harness.service.answer = () => notFound;
  expect(await harness.readAll('thread', key, 3)).toEqual(['later', 'later', 'gone']);
  expect(await mirrored(key)).toEqual([]);
  const [, number] = key.split('/');
  expect(
    await database.query(
      `select deleted_at is not null as is_deleted, message_count, last_message_at, last_direction
       from warehouse.sms_conversations where number = $1`,
      number,
    ),
  ).toEqual([{ is_deleted: true, message_count: 0, last_message_at: null, last_direction: null }]);
});

test('an empty thread that was never seen leaves no row', async () => {
  const { harness, key } = await withThread([]);
  expect(await harness.read('thread', key)).toBe('mirrored');
  const [, number] = key.split('/');
  expect(
    await database.value('select count(*)::integer from warehouse.sms_conversations where number = $1', number),
  ).toBe(0);
});

test('never marks what it reads as read', async () => {
  const { harness, key } = await withThread(messages(60), { limit: 25 });
  await harness.read('thread', key);
  expect(harness.service.asked.filter(({ query }) => query.has('markRead'))).toEqual([]);
});

test('ids beyond what a double holds are mirrored digit by digit, and read on from', async () => {
  const harness = await openReaderHarness(database);
  const key = `${line}/15557800001`;
  const ids = ['9007199254740993', '9007199254740995', '9007199254740997'];
  const shown = ids.map((id, at) => JSON.stringify(message(at + 1)).replace(/"id":\d+/, `"id":${id}`));
  harness.service.answer = ({ query }) =>
    Number(query.get('offset') ?? 0) < shown.length
      ? { body: `{"data":{"messages":[${shown.toReversed().join()}]}}` }
      : { data: { messages: [] } };
  expect(await harness.read('thread', key)).toBe('mirrored');
  expect(await harness.read('thread', key)).toBe('mirrored');
  const [, number] = key.split('/');
  expect(
    await database.query('select message_id from warehouse.sms_messages where number = $1 order by 1', number),
  ).toEqual(ids.map((id) => ({ message_id: id })));
});
