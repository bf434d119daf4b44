import { afterAll, describe, expect, test } from 'vitest';
import { call, transcript } from '../../src/api-client/entities/calls.ts';
import { line, message } from '../../src/api-client/entities/texts.ts';
import type { Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import type { Provenance } from '../../src/warehouse/upsert.ts';
import { type Follow, following } from '../../src/warehouse/what-follows.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, readNumber } from './reads.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

let reads = 0;

/** Writes as of the next read, and records what follows. */
function write<T>(work: (tx: Transaction, follow: Follow, read: Provenance) => Promise<T>): Promise<T> {
  reads += 1;
  const read = readNumber(reads, 'a read');
  return database.db.transaction().execute((tx) => following(tx, (follow) => work(tx, follow, read)));
}

const id = '1700000001.1';
const writeCall = (row: object) =>
  write((tx, follow, read) =>
    writeCalls(
      tx,
      follow,
      asRead(call, [{ id, ...row }]).map((each) => ({ call: each, read })),
    ),
  );
const writeTranscript = (row: object) =>
  write((tx, follow, read) => {
    const found = asRead(transcript, [{ id: 1, ...row }]);
    return writeTranscripts(tx, follow, [
      { callId: id, transcripts: found, isComplete: true, state: 'complete', read },
    ]);
  });
const writeLine = (row: object) =>
  write((tx, follow, read) =>
    lines.write(tx, follow, { rows: asRead(line, [{ number: '15550000001', ...row }]), isComplete: false, read }),
  );
const writeText = (row: object) =>
  write((tx, follow, read) => {
    const thread = { line: '15550000001', number: '15550000002', participants: [] };
    return writeThreads(tx, follow, [
      { thread, messages: asRead(message, [{ id: 1, ...row }]), isComplete: false, read },
    ]);
  });

describe('a changed field is kept with both values', () => {
  const changes = (entity: string) =>
    database.query(
      'select entity_key as key, field, old_value as was, new_value as is, source from warehouse.field_changes where entity = $1 order by field',
      entity,
    );

  test('of a call, whether its end, status or a number', async () => {
    await writeCall({ startTime: '2026-04-21T12:00:00Z', abandoned: true, callerName: 'One' });
    await writeCall({ startTime: '2026-04-21T12:00:00Z', abandoned: true, callerName: 'Two' });
    expect(await changes('call')).toEqual([]);
    const ended = { endTime: '2026-04-21T12:01:00+00:00', status: 'answered', abandoned: false, durationSeconds: 60 };
    await writeCall(ended);
    await writeCall({ ...ended, endTime: '2026-04-21T14:01:00+02:00' });
    const change = { key: id, source: 'a read' };
    expect(await changes('call')).toEqual([
      { ...change, field: 'duration_seconds', was: null, is: '60' },
      { ...change, field: 'ended_at', was: null, is: '2026-04-21T12:01:00.000Z' },
      { ...change, field: 'is_abandoned', was: 'true', is: 'false' },
      { ...change, field: 'status', was: null, is: 'answered' },
    ]);
  });

  test('of a transcript', async () => {
    await writeTranscript({ callSentiment: 'calm', shortSummary: 'One', actionRequired: true });
    await writeTranscript({ callSentiment: 'angry', shortSummary: 'Two', actionRequired: true });
    const change = { key: '1', field: 'call_sentiment', was: 'calm', is: 'angry', source: 'calls.transcripts' };
    expect(await changes('transcript')).toEqual([change]);
  });

  test('of a line', async () => {
    await writeLine({ name: 'One', bulkEnabled: true });
    await writeLine({ name: 'Two', bulkEnabled: true });
    expect(await changes('line')).toEqual([
      { key: '15550000001', field: 'name', was: 'One', is: 'Two', source: 'a read' },
    ]);
  });
});

test.each([
  ['unread to the credential’s user', false, [7], true],
  ['read by that user', true, [7], false],
  ['read by nobody', false, [], false],
])('a text that is %s is read by others: %s, %j → %s', async (_, read, readBy, isReadByOthers) => {
  await database.query('delete from warehouse.sms_messages');
  await database.query('delete from warehouse.sms_message_reads');
  await writeText({ direction: 'in', sentAt: '2026-04-21T12:00:00Z', read });
  await writeText({ direction: 'in', sentAt: '2026-04-21T12:00:00Z', read, readBy });
  await writeText({ direction: 'in', sentAt: '2026-04-21T12:00:00Z', read, text: 'edited', readBy });
  expect(await database.value('select is_read_by_others from warehouse.sms_messages')).toBe(isReadByOthers);
});
