import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { missingTexts } from '../../../src/sync/evidence/missing.ts';
import { remainingOf } from '../../../src/sync/evidence/uncounted.ts';
import { migratedDatabase } from '../../world/database.ts';
import { line, otherLine, passMinutes, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
const service = await startCountingService(database);
const { hold, look, state, readOwed } = service;
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(service.begin);

/** Looks, reads what that makes owed, and a minute passes. */
async function minute() {
  const seen = await look();
  await readOwed();
  await passMinutes(database, 1);
  return seen;
}

/** Five texts in two threads stay unread, and the service goes on to count none of them. */
async function leaveOutFive(): Promise<void> {
  await hold(2);
  await hold(3);
  expect(await minute()).toMatchObject({ state: 'ahead', uncounted: 0 });
  expect(await minute()).toMatchObject({ state: 'even', reported: 0, held: 5, uncounted: 5 });
}

test('a line that counts fewer after its threads were read to their end is taken to count so', async () => {
  await leaveOutFive();
  const owed = () => value('select bool_or(is_reread_owed) from warehouse.sms_conversations');
  expect(await state()).toBe('even');
  expect(await owed()).toBe(false);
  expect(await missingTexts(db)).toEqual([]);
  // One of them may have been read just then.
  await passMinutes(database, 10);
  expect(await state()).toBe('even');
  expect(await owed()).toBe(true);
});

test('a text that such a line loses is looked for, and shown', async () => {
  await leaveOutFive();
  await query(
    `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
     values ('1.1', now() - interval '1 hour', '17185559999', $1, 'h', 'test', 1, now())`,
    line,
  );
  service.counts = { [line]: 1 };
  expect(await minute()).toMatchObject({ state: 'behind', reported: 1, held: 5 });
  await minute();
  expect(await query('select number from ops.thread_candidates where probed_at is not null')).toEqual([
    { number: '17185559999' },
  ]);
  await passMinutes(database, 20);
  expect(await state()).toBe('unexplained');
  expect(await missingTexts(db)).toMatchObject([{ line, missing: 1, state: 'unexplained' }]);
  service.counts = { [line]: 2 };
  expect(await state()).toBe('behind');
});

test('a text that comes and one that is found read or gone are no lost ones', async () => {
  await leaveOutFive();
  await hold(1);
  service.counts = { [line]: 1 };
  expect(await minute()).toMatchObject({ state: 'even', uncounted: 5 });
  // A new text has its thread read, and that shows three others read: as many are held as before.
  await query(`update warehouse.sms_messages set is_read = true where message_id <= 3 and number in (
    select number from warehouse.sms_messages group by number having count(*) = 3)`);
  await hold(3);
  service.counts = { [line]: 4 };
  expect(await minute()).toMatchObject({ state: 'even', held: 6, uncounted: 2 });
  await query(`update warehouse.sms_messages set deleted_at = now() where number in (
    select number from warehouse.sms_messages group by number having count(*) = 2)`);
  expect(await minute()).toMatchObject({ state: 'even', held: 4, uncounted: 0 });
  service.counts = { [line]: 5 };
  expect(await state()).toBe('behind');
});

test('a text that is lost while others are read elsewhere shows when these are found', async () => {
  await hold(3);
  service.counts = { [line]: 2 };
  await minute();
  expect(await minute()).toMatchObject({ state: 'even', uncounted: 1 });
  await query('update warehouse.sms_messages set is_read = true where message_id <= 2');
  expect(await minute()).toMatchObject({ state: 'behind', reported: 2, held: 1, uncounted: 0 });
});

test('a thread that cannot be read may hide as many read texts as it holds', async () => {
  await hold(3);
  const unreadable = await hold(1);
  await look();
  await query('update warehouse.sms_conversations set is_reread_owed = false where number = $1', unreadable);
  await readOwed();
  await passMinutes(database, 1);
  expect(await minute()).toMatchObject({ state: 'ahead', held: 4, uncounted: 3 });
});

test('what was lost before, of a line that leaves some out, is not taken for older than the mirror', async () => {
  await leaveOutFive();
  service.counts = { [line]: 2 };
  await minute();
  await passMinutes(database, 20);
  expect(await state()).toBe('unexplained');
});

test('each line leaves out its own', async () => {
  await hold(2, { of: otherLine });
  service.counts = { [otherLine]: 2 };
  await leaveOutFive();
  expect(
    await query(
      `select distinct on (line) line, state, uncounted_count from warehouse.sms_unread_snapshots order by line, observed_at desc`,
    ),
  ).toEqual([
    { line, state: 'even', uncounted_count: 5 },
    { line: otherLine, state: 'even', uncounted_count: 0 },
  ]);
});

describe('of the uncounted ones there remain', () => {
  const five = { reported: 10, held: 15, uncounted: 5 };
  test.each([
    ['all, when nothing changes', five, { ahead: 5, held: 15, arrived: 0 }, 5],
    ['all, when a text is lost', five, { ahead: 4, held: 15, arrived: 0 }, 5],
    ['all, when texts come', five, { ahead: 5, held: 18, arrived: 3 }, 5],
    ['all, when counted texts are read, here and there', five, { ahead: 5, held: 12, arrived: 0 }, 5],
    ['fewer, when they are found read', five, { ahead: 3, held: 13, arrived: 0 }, 3],
    ['fewer, when one is found and another text lost', five, { ahead: 3, held: 14, arrived: 0 }, 4],
    ['fewer, when one is found as a text comes', five, { ahead: 4, held: 15, arrived: 1 }, 4],
    ['all, when a text beyond them is found read', { ...five, uncounted: 3 }, { ahead: 4, held: 14, arrived: 0 }, 3],
    ['fewer, when one is found after a loss', { ...five, reported: 11 }, { ahead: 3, held: 14, arrived: 0 }, 4],
  ])('%s', (_, last, now, expected) => {
    expect(remainingOf(last, now)).toBe(expected);
  });
});
