import { afterAll, describe, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account.ts';
import { call, recording, transcript } from '../../src/api-client/entities/calls.ts';
import { message } from '../../src/api-client/entities/texts.ts';
import { inTransaction, type Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';
import { asRead, ignored, readNumber } from './reads.ts';

/* A read that began earlier and is written later changes nothing that the newer one said. */

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());
const write = (work: (tx: Transaction) => Promise<unknown>) => inTransaction(database.db, work);

describe('a thread', () => {
  const thread = { line: '15550000001', number: '15550000002', participants: [] };
  const writeThread = (fetchSeq: number, ids: number[], isComplete = true) =>
    write((tx) =>
      writeThreads(tx, ignored, [
        {
          thread,
          messages: asRead(
            message,
            ids.map((id) => ({ id, text: `${fetchSeq}` })),
          ),
          isComplete,
          read: readNumber(fetchSeq),
        },
      ]),
    );
  const listed = async () =>
    (
      await database.query<{ message_id: string }>(
        `select message_id from warehouse.sms_messages where number = '15550000002' and deleted_at is null order by 1`,
      )
    ).map((row) => Number(row.message_id));

  test('keeps deleted what a newer read no longer listed', async () => {
    await writeThread(1, [1, 2, 3]);
    await writeThread(3, [1, 2]);
    await writeThread(2, [1, 2, 3]);
    expect(await listed()).toEqual([1, 2]);
  });

  test('does not lose what a newer read found', async () => {
    await writeThread(11, [1, 2, 5]);
    await writeThread(10, [1, 2]);
    expect(await listed()).toEqual([1, 2, 5]);
  });
});

describe('a call', () => {
  const id = '1700000001.5';
  const writeCall = (fetchSeq: number, more: object) =>
    write((tx) =>
      writeCalls(
        tx,
        ignored,
        asRead(call, [{ id, legs: [{ uniqueId: id }], ...more }]).map((each) => ({
          call: each,
          read: readNumber(fetchSeq),
        })),
      ),
    );

  test('keeps what its newest read says beyond the columns', async () => {
    await writeCall(1, { odd: 'first' });
    await writeCall(3, { odd: 'first' });
    await writeCall(2, { odd: 'stale' });
    expect(await database.value(`select extra ->> 'odd' from warehouse.calls where call_id = $1`, id)).toBe('first');
  });

  test('keeps what the newest read of a batch says beyond the columns', async () => {
    await write((tx) =>
      writeCalls(tx, ignored, [
        ...asRead(call, [{ id, odd: 'newest', legs: [] }]).map((each) => ({ call: each, read: readNumber(12) })),
        ...asRead(call, [{ id, odd: 'stale', legs: [] }]).map((each) => ({ call: each, read: readNumber(11) })),
      ]),
    );
    expect(await database.value(`select extra ->> 'odd' from warehouse.calls where call_id = $1`, id)).toBe('newest');
  });
});

describe('the legs of a call', () => {
  const writeCall = (id: string, fetchSeq: number, found: object) =>
    write((tx) =>
      writeCalls(
        tx,
        ignored,
        asRead(call, [{ id, ...found }]).map((each) => ({ call: each, read: readNumber(fetchSeq) })),
      ),
    );
  const legsOf = async (id: string) => {
    const rows = await database.query<{ leg_key: string }>(
      'select leg_key from warehouse.call_legs where call_id = $1 and deleted_at is null order by ordinal',
      id,
    );
    return rows.map(({ leg_key }) => leg_key);
  };

  test('are mirrored though a search that began later was written first, and shows none', async () => {
    const id = '1700000011.1';
    await writeCall(id, 2, { talkTimeSeconds: 7 });
    await writeCall(id, 1, { talkTimeSeconds: 5, legs: [{ uniqueId: '1.1' }, { uniqueId: '1.2' }] });
    expect(await legsOf(id)).toEqual(['1.1', '1.2']);
    expect(
      await database.query('select leg_count, talk_seconds, fetch_seq from warehouse.calls where call_id = $1', id),
    ).toEqual([{ leg_count: 2, talk_seconds: 7, fetch_seq: '2' }]);
  });

  test('stay those of their newest read', async () => {
    const id = '1700000011.2';
    await writeCall(id, 5, { legs: [{ uniqueId: '1.1' }] });
    await writeCall(id, 7, { talkTimeSeconds: 7 });
    await writeCall(id, 4, { legs: [{ uniqueId: '1.1' }, { uniqueId: '1.2' }] });
    expect(await legsOf(id)).toEqual(['1.1']);
    await writeCall(id, 6, { legs: [{ uniqueId: '1.2' }] });
    expect(await legsOf(id)).toEqual(['1.2']);
  });
});

test('what follows from a call takes in the legs that another transaction wrote meanwhile', async () => {
  const id = '1700000012.1';
  const read = (more: object, fetchSeq: number) =>
    asRead(call, [{ id, direction: 'inbound', startTime: '2026-04-21T12:00:00Z', ...more }]).map((each) => ({
      call: each,
      read: readNumber(fetchSeq),
    }));
  await write((tx) => writeCalls(tx, ignored, read({}, 1)));
  let waiting: Promise<unknown> | undefined;
  await write(async (tx) => {
    await writeCalls(tx, ignored, read({ legs: [{ uniqueId: '1.1', calledType: 'queue', calledNumber: '601' }] }, 2));
    waiting = write((other) => writeCalls(other, ignored, read({ talkTimeSeconds: 7 }, 3)));
    await until(async () => (await database.value(waitingForLocks)) === 1);
  });
  await waiting;
  expect(
    await database.query(
      `select talk_seconds, queue, reached, array(select endpoint from warehouse.call_attributions a where a.call_id = c.call_id) as attributed
       from warehouse.calls c where call_id = $1`,
      id,
    ),
  ).toEqual([{ talk_seconds: 7, queue: '601', reached: 'queue', attributed: ['601'] }]);
});

test('a recording that a newer read no longer listed stays deleted', async () => {
  const callId = '1700000002.1';
  const writeOnes = (fetchSeq: number, rows: object[]) =>
    write((tx) =>
      writeRecordings(tx, ignored, [
        {
          callId,
          recordings: asRead(recording, rows),
          isComplete: true,
          state: 'complete',
          read: readNumber(fetchSeq),
        },
      ]),
    );
  await writeOnes(1, [{ uniqueId: callId }]);
  await writeOnes(3, []);
  await writeOnes(2, [{ uniqueId: callId }]);
  expect(
    await database.value('select deleted_at is not null from warehouse.recordings where call_id = $1', callId),
  ).toBe(true);
});

test('the measures of a transcript are those of its newest read', async () => {
  const callId = '1700000003.1';
  const writeScore = (fetchSeq: number, value: number) =>
    write((tx) =>
      writeTranscripts(tx, ignored, [
        {
          callId,
          transcripts: asRead(transcript, [{ id: 31, callId, customKpis: [{ name: 'Warmth', value }] }]),
          isComplete: true,
          state: 'complete',
          read: readNumber(fetchSeq),
        },
      ]),
    );
  await writeScore(2, 9);
  await writeScore(1, 3);
  expect(await database.value('select kpi_value from warehouse.transcript_kpis where transcript_id = 31')).toBe(9);
});

test('a user who left stays gone', async () => {
  const writeOnes = (fetchSeq: number, ids: number[]) =>
    write((tx) =>
      users.write(tx, ignored, {
        rows: asRead(
          user,
          ids.map((id) => ({ id, extensions: ['101'] })),
        ),
        read: readNumber(fetchSeq),
      }),
    );
  await writeOnes(1, [1, 2]);
  await writeOnes(3, [1]);
  await writeOnes(2, [1, 2]);
  expect(await database.query('select user_id from warehouse.users where deleted_at is null')).toEqual([
    { user_id: '1' },
  ]);
  expect(await database.query(`select user_id from warehouse.user_endpoints where valid_to = 'infinity'`)).toEqual([
    { user_id: '1' },
  ]);
});
