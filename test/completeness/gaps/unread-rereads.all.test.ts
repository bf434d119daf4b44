import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { compareUnread } from '../../../src/completeness/gaps/unread.ts';
import { createLog } from '../../../src/shared/log.ts';
import { openReaderHarness } from '../../sync/reader-harness.ts';
import { messages, threadService } from '../../sync/thread-service.ts';
import { migratedDatabase } from '../../world/database.ts';
import { line, passMinutes, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { query, value } = database;
const service = await startCountingService(database);
const { hold, look, state, readOwed } = service;
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(service.begin);

/** Looks each of some minutes, and reads what is pending: in which of them was a thread to be read to its end? */
async function rereadsIn(minutes: number, happen: (minute: number) => void = () => undefined): Promise<number[]> {
  const reread: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    happen(minute);
    await look();
    if ((await value('select bool_or(is_reread_owed) from warehouse.sms_conversations')) === true) reread.push(minute);
    await readOwed();
    await passMinutes(database, 1);
  }
  return reread;
}

test('a thread of which nothing is found to be read waits twice as long each time, whatever its line counts', async () => {
  await hold(40);
  const reread = await rereadsIn(80, (minute) => {
    service.counts = { [line]: minute % 3 };
  });
  expect(reread).toEqual([0, 10, 30, 70]);
});

test('a thread waits some hours at most, and again once texts of it were read', async () => {
  await hold(2);
  await look();
  await readOwed();
  await query(`update warehouse.sms_conversations set unread_reread_wait = interval '11 hours'`);
  const owedAfter = async (minutes: number) => {
    await passMinutes(database, minutes);
    await query('truncate warehouse.sms_unread_snapshots');
    expect(await state()).toBe('ahead');
    const pending = await value('select is_reread_owed from warehouse.sms_conversations');
    await readOwed();
    return pending;
  };
  expect(await owedAfter(670)).toBe(true);
  expect(await owedAfter(730)).toBe(true);
  await query('update warehouse.sms_messages set is_read = true where message_id = 1');
  expect(await owedAfter(730)).toBe(true);
  expect(await owedAfter(5)).toBe(false);
  expect(await owedAfter(6)).toBe(true);
});

test('a thread that could not be read yet waits no longer for that', async () => {
  await hold(2);
  await look();
  await passMinutes(database, 11);
  await look();
  expect(await value('select unread_reread_wait::text from warehouse.sms_conversations')).toBe('00:10:00');
});

test('a text a minute that somebody reads costs ever fewer reads of the other threads', async () => {
  const harness = await openReaderHarness(database);
  const [threads, texts] = [60, 5];
  const held = new Map(
    Array.from({ length: threads }, (_, at) => [
      `15551${String(at).padStart(6, '0')}`,
      messages(texts, at * 100).map((message, i) => ({ ...message, readBy: i < texts - 1 ? [7] : ([] as number[]) })),
    ]),
  );
  harness.service.answer = (asked) => {
    if (asked.path === '/sms/unread') {
      const count = [...held.values()].flat().filter(({ readBy }) => readBy.length === 0).length;
      return { data: { total: count, lines: [{ line, count }] } };
    }
    return threadService(() => held.get(asked.path.split('/').at(-1) ?? '') ?? [])(asked);
  };
  const client = createService({
    baseUrl: harness.service.url,
    apiKey: 'key',
    log: createLog('silent'),
    retry: { tries: 1 },
  });
  onTestFinished(() => client.close());
  for (const number of held.keys()) await harness.readAll('thread', `${line}/${number}`);

  const requests: number[] = [];
  const lookAndRead = async (minutes: number) => {
    await passMinutes(database, minutes);
    const before = harness.service.asked.length;
    const looks = await compareUnread({
      ...{ db: database.db, service: client, log: createLog('silent') },
      ...{ pauses: { activeMs: 0, refusedMs: 0 }, notify: () => undefined },
    });
    const pending = await query<{ key: string }>(
      `select key from ops.sync_targets where kind = 'thread' and dirty_version > clean_version`,
    );
    for (const { key } of pending) {
      await harness.pass({ kind: 'thread', key });
      await harness.readIfPending('thread', key);
    }
    requests.push(harness.service.asked.length - before);
    return looks.find((each) => each.line === line);
  };
  await lookAndRead(1);
  const unread = [...held.values()].map((each) => each.at(-1));
  for (const text of unread.slice(0, 40)) {
    text?.readBy.push(7);
    await lookAndRead(1);
  }
  const sum = (from: number, to: number) => requests.slice(from, to).reduce((all, each) => all + each, 0);
  // A whole read of a thread is two requests, and each minute asks for the counts.
  expect(sum(0, 21)).toBeLessThanOrEqual(21 + 2 * 2 * threads);
  expect(sum(21, 41)).toBeLessThanOrEqual(20 + 2 * threads);
  await lookAndRead(720);
  expect(await lookAndRead(1)).toMatchObject({ reported: 20, held: 20, state: 'even' });
});
