import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { threadsIn } from './thread-harness.ts';
import { message, messages, type ShownMessage } from './thread-service.ts';

const database = await migratedDatabase();
const { withThread, mirrored } = threadsIn(database);
afterAll(() => database[Symbol.asyncDispose]());

const ids = (list: readonly ShownMessage[]) => list.map(({ id }) => id);

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
