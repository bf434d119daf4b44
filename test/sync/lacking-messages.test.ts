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
  const readsOf = async () => {
    const asked = desk.service.asked.length;
    await desk.read('thread', key);
    return desk.service.asked.length - asked;
  };
  for (let first = 6; first < 50; first += 4) {
    thread.messages.push(...messages(4, first));
    expect(await readsOf(), 'an event costs no more for it').toBeLessThanOrEqual(2);
  }
  thread.messages[4] = message(5);
  later = 61;
  await desk.read('thread', key);
  expect(await direction()).toBe('in');
  expect(await readsOf(), 'it is sought once').toBeLessThanOrEqual(2);
});

test('a flag that came and says nothing is looked for, and one that does not come is not', async () => {
  let later = 0;
  const now = () => new Date(Date.now() + later * 1_000);
  const { desk, key, thread } = await withThread([message(1), message(2, { scheduled: 'later' })], {}, { now });
  const [, number] = key.split('/');
  const flags = () =>
    database.query('select message_id, is_scheduled from warehouse.sms_messages where number = $1 order by 1', number);
  const owed = () => database.value('select dirty_version > clean_version from ops.sync_targets where key = $1', key);
  await desk.read('thread', key);
  expect(await flags()).toMatchObject([{ is_scheduled: null }, { is_scheduled: null }]);
  expect(await owed()).toBe(true);
  thread.messages[1] = message(2, { scheduled: false });
  later = 61;
  await desk.read('thread', key);
  expect(await flags()).toMatchObject([{ is_scheduled: null }, { is_scheduled: false }]);
});
