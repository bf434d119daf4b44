import { describe, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account-schemas.ts';
import { inTransaction, type Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';
import { asRead, callReads, ignored, readNumber, recordingsRead, textsRead, transcriptsRead } from './reads.ts';

/* A read that began earlier and is written later changes nothing that the newer one said. */

const facts = await factsDatabase();
const { expectRows, value } = facts;
const write = (work: (tx: Transaction) => Promise<unknown>) => inTransaction(facts.db, work);
const writeCall = (fetchSeq: number, row: object) => write((tx) => writeCalls(tx, ignored, callReads(fetchSeq, row)));

describe('a thread', () => {
  const writeThread = (fetchSeq: number, ids: number[]) => {
    const rows = ids.map((id) => ({ id, text: `${fetchSeq}` }));
    return write((tx) => writeThreads(tx, ignored, [textsRead(fetchSeq, rows)]));
  };
  const listed = () => expectRows('select message_id from warehouse.sms_messages where deleted_at is null order by 1');

  test('keeps deleted what a newer read no longer listed', async () => {
    await writeThread(1, [1, 2, 3]);
    await writeThread(3, [1, 2]);
    await writeThread(2, [1, 2, 3]);
    await listed().toEqual(['1', '2']);
  });

  test('does not lose what a newer read found', async () => {
    await writeThread(11, [1, 2, 5]);
    await writeThread(10, [1, 2]);
    await listed().toEqual(['1', '2', '5']);
  });
});

describe('a call', () => {
  const id = '1700000001.5';
  const odd = () => value(`select extra ->> 'odd' from warehouse.calls where call_id = $1`, id);

  test('keeps what its newest read says beyond the columns', async () => {
    const legs = [{ uniqueId: id }];
    await writeCall(1, { id, legs, odd: 'first' });
    await writeCall(3, { id, legs, odd: 'first' });
    await writeCall(2, { id, legs, odd: 'stale' });
    expect(await odd()).toBe('first');
  });

  test('keeps what the newest read of a batch says beyond the columns', async () => {
    const batch = [callReads(12, { id, odd: 'newest', legs: [] }), callReads(11, { id, odd: 'stale', legs: [] })];
    await write((tx) => writeCalls(tx, ignored, batch.flat()));
    expect(await odd()).toBe('newest');
  });
});

describe('the legs of a call', () => {
  const legsOf = (id: string) =>
    expectRows(
      'select leg_key from warehouse.call_legs where call_id = $1 and deleted_at is null order by ordinal',
      id,
    );

  test('are mirrored though a search that began later was written first, and shows none', async () => {
    const id = '1700000011.1';
    await writeCall(2, { id, talkTimeSeconds: 7 });
    await writeCall(1, { id, talkTimeSeconds: 5, legs: [{ uniqueId: '1.1' }, { uniqueId: '1.2' }] });
    await legsOf(id).toEqual(['1.1', '1.2']);
    const held = 'select leg_count, talk_seconds, fetch_seq from warehouse.calls where call_id = $1';
    await expectRows(held, id).toEqual(['2 | 7 | 2']);
  });

  test('stay those of their newest read', async () => {
    const id = '1700000011.2';
    await writeCall(5, { id, legs: [{ uniqueId: '1.1' }] });
    await writeCall(7, { id, talkTimeSeconds: 7 });
    await writeCall(4, { id, legs: [{ uniqueId: '1.1' }, { uniqueId: '1.2' }] });
    await legsOf(id).toEqual(['1.1']);
    await writeCall(6, { id, legs: [{ uniqueId: '1.2' }] });
    await legsOf(id).toEqual(['1.2']);
  });
});

test('what follows from a call takes in the legs that another transaction wrote meanwhile', async () => {
  const read = (fetchSeq: number, more: object) =>
    callReads(fetchSeq, { id: '1700000012.1', direction: 'inbound', startTime: '2026-04-21T12:00:00Z', ...more });
  const legs = [{ uniqueId: '1.1', calledType: 'queue', calledNumber: '601' }];
  await write((tx) => writeCalls(tx, ignored, read(1, {})));
  let waiting: Promise<unknown> | undefined;
  await write(async (tx) => {
    await writeCalls(tx, ignored, read(2, { legs }));
    waiting = write((other) => writeCalls(other, ignored, read(3, { talkTimeSeconds: 7 })));
    await until(async () => (await value(waitingForLocks)) === 1);
  });
  await waiting;
  await expectRows(`
    select talk_seconds, queue, reached, array(select endpoint from warehouse.call_attributions a where a.call_id = c.call_id) as attributed
    from warehouse.calls c where call_id = '1700000012.1'`).toEqual(['7 | 601 | queue | 601']);
});

test('a recording that a newer read no longer listed stays deleted', async () => {
  const callId = '1700000002.1';
  const writeOnes = (fetchSeq: number, rows: object[]) =>
    write((tx) => writeRecordings(tx, ignored, [recordingsRead(fetchSeq, callId, rows)]));
  await writeOnes(1, [{ uniqueId: callId }]);
  await writeOnes(3, []);
  await writeOnes(2, [{ uniqueId: callId }]);
  await expectRows('select deleted_at is not null from warehouse.recordings where call_id = $1', callId).toEqual([
    'true',
  ]);
});

test('the measures of a transcript are those of its newest read', async () => {
  const callId = '1700000003.1';
  const writeScore = (fetchSeq: number, value: number) => {
    const rows = [{ id: 31, callId, customKpis: [{ name: 'Warmth', value }] }];
    return write((tx) => writeTranscripts(tx, ignored, [transcriptsRead(fetchSeq, callId, rows)]));
  };
  await writeScore(2, 9);
  await writeScore(1, 3);
  await expectRows('select kpi_value from warehouse.transcript_kpis where transcript_id = 31').toEqual(['9']);
});

test('a user who left stays gone', async () => {
  const writeOnes = (fetchSeq: number, ids: number[]) => {
    const rows = asRead(
      user,
      ids.map((id) => ({ id, extensions: ['101'] })),
    );
    return write((tx) => users.write(tx, ignored, { rows, read: readNumber(fetchSeq) }));
  };
  await writeOnes(1, [1, 2]);
  await writeOnes(3, [1]);
  await writeOnes(2, [1, 2]);
  await expectRows('select user_id from warehouse.users where deleted_at is null').toEqual(['1']);
  await expectRows(`select user_id from warehouse.user_endpoints where valid_to = 'infinity'`).toEqual(['1']);
});
