import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { threadsIn } from './thread-harness.ts';
import { message, messages, type ShownMessage } from './thread-service.ts';

const database = await migratedDatabase();
const { withThread, mirrored } = threadsIn(database);
afterAll(() => database[Symbol.asyncDispose]());

const ids = (list: readonly ShownMessage[]) => list.map(({ id }) => id);
type WithThread = Awaited<ReturnType<typeof withThread>>;

/** How many pages one event costs. */
async function pagesOf({ harness, key }: WithThread): Promise<number> {
  const before = harness.service.asked.length;
  await harness.read('thread', key);
  return harness.service.asked.length - before;
}

describe('an event of a thread of one page costs one page', () => {
  test.each(['newest first', 'oldest first'] as const)('while it is short: %s', async (order) => {
    const short = await withThread(messages(1), { order });
    await short.harness.read('thread', short.key);
    for (let id = 2; id < 9; id += 1) {
      short.thread.messages.push(message(id));
      expect(await pagesOf(short)).toBe(1);
    }
  });

  test.each(['newest first', 'newest first, shuffled inside pages'] as const)(
    'however long it is, once the order is known: %s',
    async (order) => {
      const long = await withThread(messages(60), { order });
      await long.harness.read('thread', long.key);
      for (let id = 61; id < 70; id += 1) {
        long.thread.messages.push(message(id));
        expect(await pagesOf(long)).toBe(1);
      }
    },
  );

  test('where a page was longer, though the oldest come first', async () => {
    const long = await withThread(messages(90), { order: 'oldest first' });
    await long.harness.read('thread', long.key);
    long.thread.messages = messages(60);
    await long.harness.read('thread', long.key);
    for (let id = 61; id < 70; id += 1) {
      long.thread.messages.push(message(id));
      expect(await pagesOf(long)).toBe(1);
    }
  });
});

describe.each(['newest first', 'oldest first'] as const)('a thread of many pages, %s', (order) => {
  let known: WithThread;
  beforeEach(async () => {
    known = await withThread(messages(96), { order, limit: 25 });
    await known.harness.read('thread', known.key);
  });

  test.each([
    ['newest text is', [96]],
    ['newest texts are', [94, 95, 96]],
    ['newest text but one is', [95]],
  ])('whose %s deleted is mirrored so at the next event', async (_what, deleted) => {
    known.thread.messages = known.thread.messages.filter(({ id }) => !deleted.includes(id));
    await known.harness.read('thread', known.key);
    expect(await mirrored(known.key)).toEqual(ids(known.thread.messages));
    expect(await mirrored(known.key, 'deleted_at is not null')).toEqual(deleted);
  });

  test('whose newest text got another id is mirrored so', async () => {
    const renumbered = { ...message(96), id: 1_096 };
    known.thread.messages = [...messages(95), renumbered];
    await known.harness.read('thread', known.key);
    expect(await mirrored(known.key)).toEqual(ids(known.thread.messages));
  });
});

test('a text that was scheduled long ago, and has a late moment, is not taken for one that is missing', async () => {
  const known = await withThread(messages(96), { limit: 25 });
  Object.assign(known.thread.messages[4] as object, { sentAt: message(400).sentAt });
  await known.harness.read('thread', known.key);
  known.thread.messages.push(message(97));
  expect(await pagesOf(known)).toBeLessThanOrEqual(3);
  expect(await mirrored(known.key)).toEqual(ids(known.thread.messages));
});

test.each(['newest first', 'oldest first'] as const)(
  'a text in a long thread that is held whole costs few requests: %s',
  async (order) => {
    const { harness, key, thread } = await withThread(messages(1_000), { order, limit: 50 });
    await harness.readAll('thread', key, 3);
    thread.messages.push(message(1_001), message(1_002));
    const before = harness.service.asked.length;
    await harness.read('thread', key);
    expect(harness.service.asked.length - before).toBeLessThanOrEqual(3);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
    // What is deleted far back shows where the pages no longer fit.
    thread.messages = thread.messages.filter(({ id }) => id !== 3);
    thread.messages.push(message(1_003));
    await harness.readAll('thread', key, 3);
    expect((await mirrored(key)).slice(-1)).toEqual([1_003]);
  },
);

describe.each([
  ['no words beside a picture', { text: null, media: [{ name: 'a.png', url: 'https://media.test/a' }] }],
  ['no words at all', { text: null }],
  ['two receivers', { to: ['15550000001'] }],
  ['no moment, being scheduled', { sentAt: undefined, scheduled: true, scheduledAt: '2030-01-01T00:00:00Z' }],
] as const)('a thread in which one message has %s', (_what, odd) => {
  test('is held whole, deletions and all', async () => {
    const { harness, key, thread } = await withThread(messages(20), { limit: 25 });
    thread.messages[2] = { ...message(3), ...odd } as ShownMessage;
    await harness.readAll('thread', key, 3);
    thread.messages = thread.messages.filter(({ id }) => id !== 7 && id !== 19);
    await harness.readAll('thread', key, 3);
    expect(await mirrored(key)).toEqual(ids(thread.messages));
  });

  test('costs a new text no more than another', async () => {
    const { harness, key, thread } = await withThread(messages(500), { limit: 50 });
    thread.messages[2] = { ...message(3), ...odd } as ShownMessage;
    await harness.readAll('thread', key, 3);
    await harness.read('thread', key);
    thread.messages.push(message(501));
    const before = harness.service.asked.length;
    await harness.read('thread', key);
    expect(harness.service.asked.length - before).toBeLessThanOrEqual(3);
    expect(await mirrored(key)).toContain(501);
  });
});
