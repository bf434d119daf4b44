import { afterAll, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { threadsIn } from './thread-desk.ts';
import { message, messages } from './thread-service.ts';

const database = await migratedDatabase();
const { withThread } = threadsIn(database);
afterAll(() => database[Symbol.asyncDispose]());

test('a message that came without what others have is listed by its look, once, however many have come since', async () => {
  let later = 0;
  const now = () => new Date(Date.now() + later * 1_000);
  const lacking = message(5, { direction: undefined });
  const { desk, key, thread } = await withThread([...messages(4), lacking], { limit: 10 }, { now });
  await desk.read('thread', key);
  const [, number] = key.split('/');
  const direction = () =>
    database.value('select direction from warehouse.sms_messages where number = $1 and message_id = 5', number);
  const isOwed = () => database.value('select dirty_version > clean_version from ops.sync_targets where key = $1', key);
  const readsOf = async () => {
    const asked = desk.service.asked.length;
    await desk.read('thread', key);
    return desk.service.asked.length - asked;
  };
  for (let first = 6; first < 50; first += 4) {
    thread.messages.push(...messages(4, first));
    expect(await readsOf(), 'an event costs no more for it').toBeLessThanOrEqual(2);
    expect(await isOwed(), 'its look is still owed').toBe(true);
  }
  thread.messages[4] = message(5);
  later = 61;
  await desk.read('thread', key);
  expect(await direction()).toBe('in');
  expect(await readsOf(), 'it is sought once').toBeLessThanOrEqual(2);
  expect(await isOwed()).toBe(false);
});

test.each([
  ['looked for where others have it', { scheduled: false }, true],
  ['not looked for where none has it', {}, false],
])('a flag that a text came without is %s', async (_what, usual, isLookedFor) => {
  let later = 0;
  const now = () => new Date(Date.now() + later * 1_000);
  const others = messages(60).map((each) => ({ ...each, ...usual }));
  const { desk, key, thread } = await withThread([...others, message(61, { scheduled: 'x' })], {}, { now });
  const [, number] = key.split('/');
  const flag = () =>
    database.value('select is_scheduled from warehouse.sms_messages where number = $1 and message_id = 61', number);
  await desk.read('thread', key);
  expect(await flag()).toBeNull();
  expect(await database.value('select dirty_version > clean_version from ops.sync_targets where key = $1', key)).toBe(
    isLookedFor,
  );
  thread.messages[60] = message(61, { scheduled: false });
  later = 61;
  await desk.read('thread', key);
  expect(await flag()).toBe(false);
});
