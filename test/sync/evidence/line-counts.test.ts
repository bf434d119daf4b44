import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { apiKey, createService } from '../../../src/service/client.ts';
import { missingTexts } from '../../../src/sync/evidence/missing.ts';
import { compareUnread } from '../../../src/sync/evidence/unread.ts';
import { migratedDatabase } from '../../world/database.ts';
import { startOddService } from '../../world/service.ts';

/** A service that counts as the test says; what is held stands in the tables. */
const odd = await startOddService();
const database = await migratedDatabase();
const { db, query } = database;
const service = createService({
  baseUrl: odd.url,
  credential: apiKey('key'),
  log: createLog('silent'),
  retry: { tries: 1 },
});
afterAll(async () => {
  await service.close();
  await odd[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const [line, otherLine] = ['16465550100', '16465550101'];
const provenance = `'h', 'test', 1, now() - interval '1 hour'`;
let ids = 0;
let counts: Record<string, number> = {};

beforeEach(async () => {
  await query(
    `truncate warehouse.sms_lines, warehouse.sms_conversations, warehouse.sms_messages, warehouse.sms_message_reads,
      warehouse.sms_unread_snapshots, warehouse.calls, ops.sync_targets, ops.thread_candidates`,
  );
  for (const each of [line, otherLine]) {
    await query(
      `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, ${provenance})`,
      each,
    );
  }
  counts = {};
  odd.answer = () => ({
    data: { total: 0, lines: Object.entries(counts).map(([line, count]) => ({ line, count })) },
  });
});

/** Holds a thread of texts that the service does not call read, and that the users have read. */
async function hold(count: number, { of = line, readers = [] as number[] } = {}): Promise<string> {
  const number = `1718555${String(++ids).padStart(4, '0')}`;
  await query(
    `with c as (
       insert into warehouse.sms_conversations (line, number, discovered_via, thread_fetched_at)
       values ($1, $2, 'test', now() - interval '1 hour') returning conversation_id
     ), m as (
       insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, is_read, sent_at,
         content_hash, source, fetch_seq, fetched_at)
       select conversation_id, i, $1, $2, 'in', false, now(), ${provenance} from c, generate_series(1, $3) i
     )
     insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
     select conversation_id, i, u from c, generate_series(1, $3) i, unnest($4::bigint[]) u`,
    of,
    number,
    count,
    readers,
  );
  return number;
}

/** So many minutes pass. */
async function pass(minutes: number): Promise<void> {
  await query(
    `update warehouse.sms_unread_snapshots set observed_at = observed_at - $1 * interval '1 minute'`,
    minutes,
  );
  await query(
    `update warehouse.sms_conversations set thread_fetched_at = thread_fetched_at - $1 * interval '1 minute'`,
    minutes,
  );
}

const look = async () => {
  const looks = await compareUnread({
    ...{ db, service, log: createLog('silent'), onAnswer: () => undefined, onRings: () => undefined },
    pauses: { activeMs: 0, refusedMs: 0 },
  });
  return looks.find((each) => each.line === line);
};
const stateNow = async () => (await look())?.state;

describe('of a line that counts what nobody has read', () => {
  test('texts that people have read are not unread', async () => {
    await hold(5, { readers: [7] });
    await hold(2);
    counts = { [line]: 2 };
    expect(await look()).toMatchObject({ reported: 2, held: 2, state: 'even' });
  });

  test('lost texts are looked for and shown, however many others people have read', async () => {
    await hold(5, { readers: [7, 8] });
    await query(
      `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
       values ('1.1', now() - interval '1 hour', '17185559999', $1, ${provenance})`,
      line,
    );
    counts = { [line]: 3 };
    expect(await look()).toMatchObject({ reported: 3, held: 0, state: 'behind' });
    await pass(2);
    expect(await stateNow()).toBe('behind');
    expect(await query('select number from ops.thread_candidates where probed_at is not null')).toEqual([
      { number: '17185559999' },
    ]);
    await pass(20);
    expect(await stateNow()).toBe('unexplained');
    expect(await missingTexts(db)).toMatchObject([{ line, missing: 3, state: 'unexplained' }]);
  });

  test('as many lost as people have read are lost all the same', async () => {
    await hold(3, { readers: [7] });
    expect(await stateNow()).toBe('even');
    counts = { [line]: 3 };
    await pass(1);
    expect(await stateNow()).toBe('behind');
  });

  test('what one line shows is known of the others', async () => {
    await hold(4, { of: otherLine, readers: [7] });
    await hold(3, { readers: [7] });
    counts = { [line]: 2 };
    expect(await stateNow()).toBe('behind');
    await pass(1);
    counts = { [line]: 3 };
    expect(await stateNow()).toBe('behind');
  });
});

describe('of a line that counts what the calling user has not read', () => {
  test('texts that others have read are unread', async () => {
    await hold(5, { readers: [7] });
    counts = { [line]: 5 };
    expect(await look()).toMatchObject({ reported: 5, held: 5, state: 'even' });
    await pass(1);
    counts = { [line]: 6 };
    expect(await stateNow()).toBe('behind');
  });

  test('texts that the user read before the first look are read again', async () => {
    await hold(5, { readers: [7] });
    counts = { [line]: 4 };
    await look();
    expect(await query('select is_reread_owed from warehouse.sms_conversations')).toEqual([{ is_reread_owed: true }]);
    await query('update warehouse.sms_messages set is_read = true where message_id = 1');
    expect(await look()).toMatchObject({ reported: 4, held: 4, state: 'even' });
  });
});
