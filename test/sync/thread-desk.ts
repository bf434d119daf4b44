import type { migratedDatabase } from '../world/database.ts';
import { type DeskOptions, openDesk } from './desk.ts';
import { type ShownMessage, type ThreadHabits, threadService } from './thread-service.ts';

/** Threads of a test file, each read by nobody else. */
export function threadsIn(database: Awaited<ReturnType<typeof migratedDatabase>>) {
  const line = '15550000001';
  let parties = 2;

  return {
    line,
    /** A desk whose service shows one thread. */
    async withThread(start: readonly ShownMessage[], habits: ThreadHabits = {}, options: DeskOptions = {}) {
      parties += 1;
      const key = `${line}/1555${String(parties).padStart(7, '0')}`;
      const desk = await openDesk(database, options);
      const thread = { messages: [...start] };
      const behave = (as: ThreadHabits) => {
        desk.service.answer = threadService(() => thread.messages, as);
      };
      behave(habits);
      return { desk, key, thread, behave };
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
