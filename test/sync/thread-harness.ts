import type { migratedDatabase } from '../world/database.ts';
import { type HarnessOptions, openReaderHarness } from './reader-harness.ts';
import { type ShownMessage, type ThreadHabits, threadService } from './thread-service.ts';

/** Threads of a test file, each read by nobody else. */
export function threadsIn(database: Awaited<ReturnType<typeof migratedDatabase>>) {
  const line = '15550000001';
  let parties = 2;

  return {
    line,
    /** A harness whose service shows one thread. */
    async withThread(start: readonly ShownMessage[], habits: ThreadHabits = {}, options: HarnessOptions = {}) {
      parties += 1;
      const key = `${line}/1555${String(parties).padStart(7, '0')}`;
      const harness = await openReaderHarness(database, options);
      const thread = { messages: [...start] };
      const behave = (as: ThreadHabits) => {
        harness.service.answer = threadService(() => thread.messages, as);
      };
      behave(habits);
      return { harness, key, thread, behave };
    },
    /** The ids of the messages that are held of a thread. */
    async mirrored(key: string, where = 'deleted_at is null'): Promise<number[]> {
      const [, number] = key.split('/');
      const rows = await database.query<{ message_id: string }>(
        `select message_id from warehouse.sms_messages where number = $1 and ${where} order by message_id`,
        number,
      );
      return rows.map((row) => Number(row.message_id));
    },
  };
}
