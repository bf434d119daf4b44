import type { Message } from '../account.ts';

/** Whose read state: a user's by id, or that of the account, which is what an API key has (4.2, 4.3). */
export type Reader = number | 'account';

/** For the account, read by anyone is read. */
export function isReadBy(message: Message, reader: Reader): boolean {
  if (reader !== 'account') return message.readBy.includes(reader);
  return message.readByAccount || message.readBy.length > 0;
}

/** Only messages that came in can be waiting for somebody to read them. */
export function isUnread(message: Message, reader: Reader): boolean {
  return message.direction === 'in' && !isReadBy(message, reader);
}

/** The message after the reader has marked it; the same one when that changes nothing. Nobody else's mark is touched. */
export function marked(message: Message, reader: Reader, read: boolean): Message {
  if (reader === 'account') {
    const changes = read ? !isReadBy(message, reader) : message.readByAccount;
    return changes ? { ...message, readByAccount: read } : message;
  }
  if (isReadBy(message, reader) === read) return message;
  const others = message.readBy.filter((id) => id !== reader);
  return { ...message, readBy: read ? [...others, reader] : others };
}

/** The reader that a credential stands for. */
export function readerOf(credential: { kind: 'key' } | { kind: 'user'; user: { id: number } }): Reader {
  return credential.kind === 'key' ? 'account' : credential.user.id;
}
