import type { Message } from '../account.ts';
import { isUnread, type Reader } from '../entities/reading.ts';

/** How much of each line is unread, counted as messages come, are read and go: asking costs the same for any number. */
export interface UnreadTally {
  of(line: string, reader: Reader): number;
  put(message: Message, before: Message | undefined): void;
  remove(message: Message): void;
  clear(): void;
}

interface LineTally {
  /** Messages that came in. */
  received: number;
  /** Of these, how many nobody has read. */
  untouched: number;
  /** Of these, how many each user has read. */
  read: Map<number, number>;
}

export function createUnreadTally(): UnreadTally {
  const lines = new Map<string, LineTally>();

  function add(message: Message, sign: 1 | -1): void {
    if (message.direction === 'out') return;
    const tally = lines.get(message.line) ?? { received: 0, untouched: 0, read: new Map() };
    lines.set(message.line, tally);
    tally.received += sign;
    if (isUnread(message, 'account')) tally.untouched += sign;
    for (const user of message.readBy) tally.read.set(user, (tally.read.get(user) ?? 0) + sign);
  }

  return {
    of(line, reader) {
      const tally = lines.get(line);
      if (tally === undefined) return 0;
      return reader === 'account' ? tally.untouched : tally.received - (tally.read.get(reader) ?? 0);
    },
    put(message, before) {
      if (before !== undefined) add(before, -1);
      add(message, 1);
    },
    remove: (message) => add(message, -1),
    clear: () => lines.clear(),
  };
}
