import type { Message } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Links } from './links.ts';
import { rfc3339 } from './moments.ts';

/** A message as a thread read shows it (2.6). Nobody in particular asks with an API key: read by anyone is read. */
export function messageResource(message: Message, now: number, links: Links): object {
  const waiting = message.scheduledAt !== undefined && message.scheduledAt > now;
  const { delivery, participants } = message;
  return {
    id: message.id,
    direction: message.direction,
    from: message.from,
    to: recipientsOf(message).join(assumptions.groupSeparator),
    text: message.text,
    media: message.media.map((file) => links.media(file)),
    sentAt: rfc3339(!waiting && message.scheduledAt !== undefined ? message.scheduledAt : message.sentAt),
    read: message.readByAccount || message.readBy.length > 0,
    readBy: message.readBy,
    sentBy: message.sentBy,
    delivery: delivery && { status: delivery.status, error: delivery.error, at: rfc3339(delivery.at) },
    groupParticipants: participants.length > 0 ? participants : undefined,
    scheduled: waiting ? true : undefined,
    scheduledAt: message.scheduledAt === undefined ? undefined : rfc3339(message.scheduledAt),
    blocked: message.blockReason === undefined ? undefined : true,
    blockReason: message.blockReason,
  };
}

/** Who a message went to: a group text goes to everyone but its sender. */
export function recipientsOf(message: Message): string[] {
  if (message.direction === 'out') {
    return message.participants.length > 0 ? message.participants : [message.number];
  }
  return [message.line, ...message.participants.filter((party) => party !== message.from)];
}
