import type { Message } from '../account.ts';
import { createTable, type RecordChange, type Table } from './table.ts';

export interface MessageTable extends Table<number, Message> {
  /** Messages of one thread, oldest first; the other parties may come in any order. */
  thread(line: string, parties: readonly string[]): readonly Message[];
  threadCount(): number;
  /** The id that the next message gets. */
  nextId(): number;
}

const firstId = 110_160_001;

/** Messages by id and by thread, which is a line and the set of its other parties. */
export function createMessageTable(record: RecordChange): MessageTable {
  const threads = new Map<string, Message[]>();

  const table = createTable<number, Message>('message', (message) => message.id, record, {
    added(message, before) {
      const key = keyOfMessage(message);
      const thread = threads.get(key) ?? [];
      threads.set(key, thread);
      if (before !== undefined) {
        thread[thread.findLastIndex((other) => other.id === message.id)] = message;
        return;
      }
      const at = thread.findLastIndex((other) => isBefore(other, message)) + 1;
      thread.splice(at, 0, message);
    },
    removed(message) {
      const key = keyOfMessage(message);
      const rest = (threads.get(key) ?? []).filter((other) => other.id !== message.id);
      if (rest.length === 0) threads.delete(key);
      else threads.set(key, rest);
    },
    cleared() {
      threads.clear();
    },
  });

  return {
    ...table,
    thread: (line, parties) => threads.get(threadKey(line, parties)) ?? [],
    threadCount: () => threads.size,
    nextId: () => Math.max(firstId, table.highestKey() + 1),
  };
}

function isBefore(one: Message, other: Message): boolean {
  return one.sentAt < other.sentAt || (one.sentAt === other.sentAt && one.id < other.id);
}

function keyOfMessage(message: Message): string {
  return threadKey(message.line, message.participants.length > 0 ? message.participants : [message.number]);
}

function threadKey(line: string, parties: readonly string[]): string {
  return `${line}/${[...parties].sort().join(',')}`;
}
