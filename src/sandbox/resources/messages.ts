import { z } from 'zod';
import type { Message } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import { isReadBy, type Reader } from '../entities/reading.ts';
import type { Links } from './links.ts';
import { rfc3339 } from './moments.ts';

/** Section 2.6. */
export const messageSchema = z
  .object({
    id: z.int(),
    direction: z.enum(['in', 'out']),
    from: z.string(),
    to: z.string(),
    text: z.string(),
    media: z.array(z.string()).describe('Publicly readable; treat as secrets.'),
    sentAt: z.string(),
    read: z.boolean().describe('Whether the calling user has read it.'),
    readBy: z.array(z.int()),
    sentBy: z.int().optional().describe('Absent when an integration sent it.'),
    delivery: z
      .object({ status: z.string(), error: z.string(), at: z.string() })
      .optional()
      .describe('Carrier receipt; absent means not yet reported.'),
    groupParticipants: z.array(z.string()).optional(),
    scheduled: z.boolean(),
    scheduledAt: z.string().optional(),
    blocked: z.boolean().describe('Charged, and not delivered.'),
    blockReason: z.string().optional(),
  })
  .meta({ id: 'Message' });

/** A message as a thread read shows it to whoever asks. */
export function messageResource(
  message: Message,
  reader: Reader,
  now: number,
  links: Links,
): z.output<typeof messageSchema> {
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
    read: isReadBy(message, reader),
    readBy: message.readBy,
    sentBy: message.sentBy,
    delivery: delivery && { status: delivery.status, error: delivery.error, at: rfc3339(delivery.at) },
    groupParticipants: participants.length > 0 ? participants : undefined,
    scheduled: waiting,
    scheduledAt: message.scheduledAt === undefined ? undefined : rfc3339(message.scheduledAt),
    blocked: message.blockReason !== undefined,
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

/** Whether a message belongs to a conversation of the line that the number takes part in, alone or in a group. */
export function isAmong(message: Message, { line, number }: { line: string; number: string }): boolean {
  return message.line === line && (message.number === number || message.participants.includes(number));
}
