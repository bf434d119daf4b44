import { beforeEach, describe, expect, test } from 'vitest';
import { notFound, type Reply } from '../world/service.ts';
import { line, openReaders } from './readers.ts';
import { message, messages, type ShownMessage, threadService } from './thread-service.ts';

const { query, withThread, openReader } = await openReaders();

const refused: Reply = { error: 'invalid_request', status: 400 };
const ids = (list: readonly ShownMessage[]) => list.map(({ id }) => id);
type WithThread = Awaited<ReturnType<typeof withThread>>;

/** The thread is held as the service shows it. */
const expectHeld = async ({ held, thread }: WithThread) => expect(await held()).toEqual(ids(thread.messages));
const bothOrders = ['newest first', 'oldest first'] as const;

describe.each([...bothOrders, 'newest first, shuffled inside pages'] as const)('a service that lists %s', (order) => {
  test('has a thread of many pages mirrored whole', async () => {
    const known = await withThread(messages(130), { order, limit: 25 });
    await known.readAll(3);
    await expectHeld(known);
  });

  test('has its deleted messages marked deleted, and only those', async () => {
    const known = await withThread(messages(20), { order, limit: 25 });
    await known.read();
    known.thread.messages = known.thread.messages.filter(({ id }) => id !== 7 && id !== 20);
    await known.read();
    await expectHeld(known);
    expect(await known.held('deleted_at is not null')).toEqual([7, 20]);
  });
});

test.each([10, 25, 30, 1])('learns a limit of %i from refusals, and remembers it', async (limit) => {
  const known = await withThread(messages(31), { limit });
  await known.read();
  await expectHeld(known);
  const before = known.service.asked.length;
  await known.read();
  const asked = known.service.asked.slice(before).map(({ query }) => Number(query.get('limit')));
  expect(Math.max(...asked)).toBeLessThanOrEqual(limit);
});

describe('deletes nothing', () => {
  test('when a service begins to allow only smaller pages', async () => {
    const known = await withThread(messages(60), { limit: 100 });
    await known.learnLongPages();
    await known.read();
    known.behave({ limit: 25 });
    await known.read();
    await expectHeld(known);
  });

  test('when a page in the middle is shorter than the others', async () => {
    const { service, thread, read, held } = await withThread(messages(90), { limit: 30 });
    await read();
    const whole = threadService(() => thread.messages, { limit: 30 });
    // Services that page first and filter afterwards show such pages.
    service.answer = (asked) => {
      const reply = whole(asked);
      if (!('data' in reply)) return reply;
      const data = reply.data as { messages: ShownMessage[] };
      return { data: { ...data, messages: data.messages.filter(({ id }) => id !== 80) } };
    };
    await read();
    expect(await held('deleted_at is not null and message_id <> 80')).toEqual([]);
  });

  test('but a message that was deleted between pages', async () => {
    const { thread, read, held } = await withThread(messages(60), {
      limit: 25,
      afterPage(page) {
        if (page === 3) thread.messages = thread.messages.filter(({ id }) => id !== 59);
      },
    });
    await read();
    expect(await held('deleted_at is null and message_id <> 59')).toEqual(ids(thread.messages));
  });

  test('of a list that kept shifting, which is read again later', async () => {
    const { thread, behave, read, held, dueIn } = await withThread(messages(60), { limit: 25 });
    await read();
    behave({ limit: 25, afterPage: () => void thread.messages.pop() });
    thread.messages.push(...messages(40, 100));
    await read();
    expect(await held('deleted_at is not null')).toEqual([]);
    expect(await dueIn()).toBeGreaterThan(0);
  });

  test('when a page in the middle comes empty once', async () => {
    const known = await withThread(messages(130));
    await known.read();
    known.thread.messages.push(...messages(130, 1_000));
    await query('update warehouse.sms_conversations set is_reread_owed = true');
    const whole = known.service.answer;
    let isFirst = true;
    known.service.answer = async (asked) => {
      const answer = await whole(asked);
      const isEmpty = isFirst && Number(asked.query.get('offset') ?? 0) > 0;
      if (isEmpty) isFirst = false;
      return isEmpty ? { data: { messages: [], markedRead: false } } : answer;
    };
    await known.read();
    await expectHeld(known);
  });

  test('of a list in another order each time, is never sure of it, and asks for it less and less', async () => {
    const known = await withThread(messages(150));
    await known.read();
    known.behave({ order: 'another each time' });
    await query('update warehouse.sms_conversations set is_reread_owed = true');
    for (let time = 0; time < 5; time += 1) {
      await known.read();
      await expectHeld(known);
    }
    expect(await known.dueIn()).toBeGreaterThan(50);
    await query(`update warehouse.sms_conversations set complete_read_at = now() - interval '1 hour'`);
    await known.read();
    expect(await known.dueIn()).toBeGreaterThan(800);
  });

  test('where an offset is not heeded, and mirrors the first page', async () => {
    const { read, held } = await withThread(messages(60), { heedsOffset: false, limit: 25 });
    await read();
    expect(await held()).toEqual(ids(messages(25, 36)));
  });
});

test('what a shifting list left out is mirrored once it stands still', async () => {
  const known = await withThread(messages(20), { limit: 10 });
  await known.read();
  known.thread.messages.push(...messages(60, 100));
  known.behave({ limit: 10, afterPage: () => void known.thread.messages.splice(-3) });
  await known.read();
  known.thread.messages = [...messages(20), ...messages(60, 100)];
  known.behave({ limit: 10 });
  await known.readAll(3);
  await expectHeld(known);
});

test('a later message is found behind a page of messages of one moment, oldest first', async () => {
  const start = messages(12, 1, { sentAt: '2026-04-21T10:00:00Z' });
  const known = await withThread(start, { order: 'oldest first', limit: 5 });
  await known.read();
  known.thread.messages.push(message(500));
  await known.read();
  await expectHeld(known);
});

test.each([
  ['each its own moment', {}],
  ['one second in common', { sentAt: '2026-04-22T00:00:00Z' }],
])('messages that come in front while pages are read leave the read whole: %s', async (_moments, more) => {
  const known = await withThread(messages(130, 1, more), {
    limit: 25,
    afterPage: (page) => void (page % 2 === 1 && page < 6 && known.thread.messages.push(message(200 + page, more))),
  });
  await known.read();
  expect(known.service.asked.filter(({ query }) => (query.get('offset') ?? '0') === '0').length).toBeLessThan(5);
  await expectHeld(known);
  expect(await known.conversation('is_thread_complete')).toBe('t');
});

test('an offset beyond the end may be refused', async () => {
  for (const count of [1, 2, 130]) {
    const known = await withThread(messages(count), { beyond: refused });
    expect(await known.read()).toBe('mirrored');
    await expectHeld(known);
    expect(known.service.asked.length).toBeLessThan(5);
  }
});

test('an offset that is not heeded costs a thread of one message only a few requests', async () => {
  const known = await withThread(messages(1), { heedsOffset: false });
  expect(await known.cost()).toBeLessThan(10);
  await expectHeld(known);
});

describe.each([
  ['refused', refused],
  ['not found', notFound],
])('a page beyond the end of a list that became shorter, %s', (_, beyond) => {
  test.each(bothOrders)('says nothing of the thread, %s', async (order) => {
    const known = await withThread(messages(71), { order, limit: 25, beyond });
    expect(await known.read()).toBe('mirrored');
    for (const left of [messages(21, 51), [], messages(1, 200)]) {
      known.thread.messages = [...left, ...messages(1, 300 + left.length)];
      expect(await known.read()).toBe('mirrored');
      await expectHeld(known);
    }
  });

  test('begins the read again while it is under way', async () => {
    const known = await withThread(messages(70));
    const afterPage = (page: number) => {
      if (page === 1) known.thread.messages = messages(10, 61);
    };
    known.behave({ limit: 25, beyond, afterPage });
    expect(await known.read()).toBe('mirrored');
    await expectHeld(known);
  });
});

test('a message that comes back is no longer deleted', async () => {
  const known = await withThread(messages(20));
  for (const count of [20, 19, 20]) {
    known.thread.messages = messages(count);
    await known.read();
    await expectHeld(known);
  }
});

test('a thread that was emptied keeps its row, marked deleted', async () => {
  const { thread, learnLongPages, read, readAll, held, conversation } = await withThread(messages(3));
  await learnLongPages();
  await read();
  thread.messages = [];
  await read();
  expect(await held(), 'one empty answer is no proof').toEqual([1, 2, 3]);
  await readAll(2);
  expect(await held()).toEqual([]);
  expect(await conversation('deleted_at is not null')).toBe('t');
});

test('a thread that is not found any more is marked deleted, and counts nothing', async () => {
  const { service, read, readAll, held, conversation } = await withThread(messages(3));
  await read();
  service.answer = () => notFound;
  expect(await readAll(3)).toEqual(['later', 'later', 'gone']);
  expect(await held()).toEqual([]);
  expect(await conversation('deleted_at is not null, message_count, last_message_at, last_direction')).toBe('t 0');
});

test('an empty thread that was never seen leaves no row', async () => {
  const { read, conversation } = await withThread([]);
  expect(await read()).toBe('mirrored');
  expect(await conversation('line')).toBeUndefined();
});

test('never marks what it reads as read', async () => {
  const { service, read } = await withThread(messages(60), { limit: 25 });
  await read();
  expect(service.asked.filter(({ query }) => query.has('markRead'))).toEqual([]);
});

test('ids beyond what a double holds are mirrored digit by digit, and read on from', async () => {
  const { service, read } = await openReader();
  const [number, ids] = ['15557800001', ['9007199254740993', '9007199254740995', '9007199254740997']];
  const shown = ids.map((id, at) => JSON.stringify(message(at + 1)).replace(/"id":\d+/, `"id":${id}`));
  service.answer = ({ query }) =>
    Number(query.get('offset') ?? 0) < shown.length
      ? { body: `{"data":{"messages":[${shown.toReversed().join()}]}}` }
      : { data: { messages: [] } };
  for (let time = 0; time < 2; time += 1) expect(await read('thread', `${line}/${number}`)).toBe('mirrored');
  const held = await query('select message_id from warehouse.sms_messages where number = $1 order by 1', number);
  expect(held).toEqual(ids.map((id) => ({ message_id: id })));
});

describe('an event of a thread of one page costs one page', () => {
  async function expectOnePageEach(known: WithThread, from: number): Promise<void> {
    for (let id = from; id < from + 8; id += 1) {
      known.thread.messages.push(message(id));
      expect(await known.cost()).toBe(1);
    }
  }

  test.each(bothOrders)('while it is short: %s', async (order) => {
    const short = await withThread(messages(1), { order });
    await short.read();
    await expectOnePageEach(short, 2);
  });

  test.each(['newest first', 'newest first, shuffled inside pages'] as const)(
    'however long it is, once the order is known: %s',
    async (order) => {
      const long = await withThread(messages(60), { order });
      await long.read();
      await expectOnePageEach(long, 61);
    },
  );

  test('where a page was longer, though the oldest come first', async () => {
    const long = await withThread(messages(90), { order: 'oldest first' });
    await long.read();
    long.thread.messages = messages(60);
    await long.read();
    await expectOnePageEach(long, 61);
  });
});

describe.each(bothOrders)('a thread of many pages, %s', (order) => {
  let known: WithThread;
  beforeEach(async () => {
    known = await withThread(messages(96), { order, limit: 25 });
    await known.read();
  });

  test.each([
    ['newest text is', [96]],
    ['newest texts are', [94, 95, 96]],
    ['newest text but one is', [95]],
  ])('whose %s deleted is mirrored so at the next event', async (_what, deleted) => {
    known.thread.messages = known.thread.messages.filter(({ id }) => !deleted.includes(id));
    await known.read();
    await expectHeld(known);
    expect(await known.held('deleted_at is not null')).toEqual(deleted);
  });

  test('whose newest text got another id is mirrored so', async () => {
    known.thread.messages = [...messages(95), { ...message(96), id: 1_096 }];
    await known.read();
    await expectHeld(known);
  });
});

test('a text that was scheduled long ago, and has a late moment, is not taken for one that is missing', async () => {
  const known = await withThread(messages(96), { limit: 25 });
  Object.assign(known.thread.messages[4] as object, { sentAt: message(400).sentAt });
  await known.read();
  known.thread.messages.push(message(97));
  expect(await known.cost()).toBeLessThanOrEqual(3);
  await expectHeld(known);
});

test.each(bothOrders)('a text in a long thread that is held whole costs few requests: %s', async (order) => {
  const known = await withThread(messages(1_000), { order, limit: 50 });
  await known.readAll(3);
  known.thread.messages.push(message(1_001), message(1_002));
  expect(await known.cost()).toBeLessThanOrEqual(3);
  await expectHeld(known);
  // What is deleted far back shows where the pages no longer fit.
  known.thread.messages = known.thread.messages.filter(({ id }) => id !== 3);
  known.thread.messages.push(message(1_003));
  await known.readAll(3);
  expect((await known.held()).slice(-1)).toEqual([1_003]);
});

describe.each([
  ['no words beside a picture', { text: null, media: [{ name: 'a.png', url: 'https://media.test/a' }] }],
  ['no words at all', { text: null }],
  ['two receivers', { to: ['15550000001'] }],
  ['no moment, being scheduled', { sentAt: undefined, scheduled: true, scheduledAt: '2030-01-01T00:00:00Z' }],
] as const)('a thread in which one message has %s', (_what, odd) => {
  const withOdd = (count: number, limit: number) =>
    withThread(messages(count).with(2, { ...message(3), ...odd } as ShownMessage), { limit });

  test('is held whole, deletions and all', async () => {
    const known = await withOdd(20, 25);
    await known.readAll(3);
    known.thread.messages = known.thread.messages.filter(({ id }) => id !== 7 && id !== 19);
    await known.readAll(3);
    await expectHeld(known);
  });

  test('costs a new text no more than another', async () => {
    const known = await withOdd(500, 50);
    await known.readAll(3);
    await known.read();
    known.thread.messages.push(message(501));
    expect(await known.cost()).toBeLessThanOrEqual(3);
    expect(await known.held()).toContain(501);
  });
});
