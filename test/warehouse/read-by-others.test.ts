import { afterAll, expect, test } from 'vitest';
import { message } from '../../src/api-client/entities/texts.ts';
import type { Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import type { Provenance } from '../../src/warehouse/upsert.ts';
import { type Follow, following } from '../../src/warehouse/what-follows.ts';
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

const writeText = (row: object) =>
  write((tx, follow, read) => {
    const thread = { line: '15550000001', number: '15550000002', participants: [] };
    return writeThreads(tx, follow, [
      { thread, messages: asRead(message, [{ id: 1, ...row }]), isComplete: false, read },
    ]);
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
