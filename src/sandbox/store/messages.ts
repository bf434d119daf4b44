import type { Message } from '../account.ts';
import { isUnread, type Reader } from '../entities/reading.ts';
import { createTable, type RecordChange, type Table } from './table.ts';
import { createTimelines } from './timelines.ts';
import { createUnreadTally } from './unread.ts';

export interface MessageTable extends Table<number, Message> {
  /** Messages of one thread, oldest first; the other parties may come in any order. */
  thread(line: string, parties: readonly string[]): readonly Message[];
  /** Messages of all threads of a line that were sent after a moment (ms), oldest first. */
  ofLine(line: string, after?: number): readonly Message[];
  /** How many messages came in to a line, after a moment (ms) where one is given, that the reader has not read. */
  unread(line: string, reader: Reader, after?: number): number;
  threadCount(): number;
  /** The id that the next message gets. */
  nextId(): number;
}

const firstId = 110_160_001;

/** Messages by id, by line and by thread, which is a line and the set of its other parties. */
export function createMessageTable(record: RecordChange): MessageTable {
  const threads = createTimelines(keyOfMessage);
  const lines = createTimelines(({ line }) => line);
  const unread = createUnreadTally();
  const indexes = [threads, lines, unread];

  const table = createTable<number, Message>('message', (message) => message.id, record, {
    added(message, before) {
      for (const index of indexes) index.put(message, before);
    },
    removed(message) {
      for (const index of indexes) index.remove(message);
    },
    cleared() {
      for (const index of indexes) index.clear();
    },
  });

  return {
    ...table,
    thread: (line, parties) => threads.of(threadKey(line, parties)),
    ofLine: (line, after = Number.NEGATIVE_INFINITY) => lines.of(line).slice(lines.firstAfter(line, after)),
    unread(line, reader, after) {
      if (after === undefined) return unread.of(line, reader);
      const timeline = lines.of(line);
      const first = lines.firstAfter(line, after);
      // Only the shorter side is walked: the tally tells the whole.
      if (first > timeline.length / 2) return countUnread(timeline, first, timeline.length, reader);
      return unread.of(line, reader) - countUnread(timeline, 0, first, reader);
    },
    threadCount: threads.size,
    nextId: () => Math.max(firstId, table.highestKey() + 1),
  };
}

function countUnread(timeline: readonly Message[], from: number, to: number, reader: Reader): number {
  let count = 0;
  for (let at = from; at < to; at++) if (isUnread(timeline[at] as Message, reader)) count++;
  return count;
}

function keyOfMessage(message: Message): string {
  return threadKey(message.line, message.participants.length > 0 ? message.participants : [message.number]);
}

function threadKey(line: string, parties: readonly string[]): string {
  return `${line}/${[...parties].sort().join(',')}`;
}
