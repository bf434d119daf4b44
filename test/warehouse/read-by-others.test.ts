import { expect, test } from 'vitest';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { following } from '../../src/warehouse/what-follows.ts';
import { migratedDatabase } from '../world/database.ts';
import { textsRead, theirNumber } from './reads.ts';

const database = await migratedDatabase();

let reads = 0;

/** Writes a text as of the next read, and records what follows. */
function writeText(row: object): Promise<void> {
  reads += 1;
  const found = textsRead(reads, [{ id: 1, ...row }], theirNumber, false);
  return database.db.transaction().execute((tx) => following(tx, (follow) => writeThreads(tx, follow, [found])));
}

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
