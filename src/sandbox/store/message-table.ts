import type { Message } from '../account.ts';
import { createTable, lowerBound, type RecordChange } from './table.ts';

/** The recipients of a message; those of a group text are all parties but its sender. */
export function recipientsOf(message: Message): string[] {
  if (message.direction === 'out') {
    return message.participants.length > 0 ? message.participants : [message.number];
  }
  return [message.line, ...message.participants.filter((party) => party !== message.from)];
}

/** Whether a message is in a conversation between the line and the number, alone or in a group. */
export function isInConversation(message: Message, { line, number }: { line: string; number: string }): boolean {
  return message.line === line && (message.number === number || message.participants.includes(number));
}

/** Whose read state: a user's by id, or the account's, which API keys have (4.2, 4.3). */
export type Reader = number | 'account';

/** For the account, a message that anyone has read is read. */
export function isReadBy(message: Message, reader: Reader): boolean {
  if (reader !== 'account') return message.readBy.includes(reader);
  return message.readByAccount || message.readBy.length > 0;
}

/** Only inbound messages can be unread. */
export function isUnread(message: Message, reader: Reader): boolean {
  return message.direction === 'in' && !isReadBy(message, reader);
}

/** The message with the reader's mark; the same object when nothing changes. The marks of others stay. */
export function withReadMark(message: Message, reader: Reader, read: boolean): Message {
  if (reader === 'account') {
    const changes = read ? !isReadBy(message, reader) : message.readByAccount;
    return changes ? { ...message, readByAccount: read } : message;
  }
  if (isReadBy(message, reader) === read) return message;
  const others = message.readBy.filter((id) => id !== reader);
  return { ...message, readBy: read ? [...others, reader] : others };
}

/** The reader of a credential. */
export function readerOf(credential: { kind: 'key' } | { kind: 'user'; user: { id: number } }): Reader {
  return credential.kind === 'key' ? 'account' : credential.user.id;
}

/** Messages grouped by a key, such as their line; each timeline is sorted from the oldest to the newest. */
function createTimelines(keyOf: (message: Message) => string) {
  const timelines = new Map<string, Message[]>();

  function remove(message: Message): void {
    const key = keyOf(message);
    const timeline = timelines.get(key) ?? [];
    timeline.splice(position(timeline, message.sentAt, message.id), 1);
    if (timeline.length === 0) timelines.delete(key);
  }

  return {
    of: (key: string): readonly Message[] => timelines.get(key) ?? [],
    size: () => timelines.size,
    /** Adds a message, or replaces `before`. */
    put(message: Message, before: Message | undefined): void {
      if (before !== undefined) remove(before);
      const timeline = timelines.get(keyOf(message)) ?? [];
      timelines.set(keyOf(message), timeline);
      timeline.splice(position(timeline, message.sentAt, message.id), 0, message);
    },
    remove,
    clear: () => timelines.clear(),
  };
}

/** First position whose message isn't before (sentAt, id). */
function position(timeline: readonly Message[], sentAt: number, id: number): number {
  return lowerBound(timeline, (message) => message.sentAt < sentAt || (message.sentAt === sentAt && message.id < id));
}

export type MessageTable = ReturnType<typeof createMessageTable>;

const firstId = 110_160_001;

/** Messages by id, by line and by thread: a line and the set of its other parties. */
export function createMessageTable(record: RecordChange) {
  const threads = createTimelines(keyOfMessage);
  const lines = createTimelines(({ line }) => line);
  const indexes = [threads, lines];

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

  /** Messages of a line after a time (ms), oldest first. */
  function ofLine(line: string, after = Number.NEGATIVE_INFINITY): readonly Message[] {
    const timeline = lines.of(line);
    return timeline.slice(position(timeline, after, Number.POSITIVE_INFINITY));
  }

  return {
    ...table,
    /** Messages of one thread, oldest first; the order of `parties` doesn't matter. */
    thread: (line: string, parties: readonly string[]) => threads.of(threadKey(line, parties)),
    ofLine,
    /** Number of messages of a line, optionally after a time (ms), that the reader hasn't read. */
    unread: (line: string, reader: Reader, after?: number) =>
      ofLine(line, after).filter((message) => isUnread(message, reader)).length,
    threadCount: threads.size,
    /** The id of the next message. */
    nextId: () => Math.max(firstId, table.highestKey() + 1),
  };
}

function keyOfMessage(message: Message): string {
  return threadKey(message.line, message.participants.length > 0 ? message.participants : [message.number]);
}

function threadKey(line: string, parties: readonly string[]): string {
  return `${line}/${[...parties].sort().join(',')}`;
}
