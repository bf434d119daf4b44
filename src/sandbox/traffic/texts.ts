import { z } from 'zod';
import type { Message } from '../account.ts';
import type { Context } from '../context.ts';
import { invalidRequest } from '../http/errors.ts';
import { requireNumber } from '../phone-number.ts';
import { openers, replies } from '../seed/dialogues.ts';
import { type CarrierWorld, sendOut, takeIn } from '../sending/carrier.ts';

/** A text to provoke; what is not given is invented. */
export const smsEvent = z.strictObject({
  /** A line of the account. */
  line: z.string().optional(),
  /** The other party; in a group whoever sends. */
  number: z.string().optional(),
  /** All other parties of a group thread. */
  participants: z.array(z.string()).optional(),
  direction: z.enum(['in', 'out']).default('in'),
  text: z.string().optional(),
  /** File names. */
  media: z.array(z.string().min(1)).default([]),
  sentAt: z.iso.datetime({ offset: true }).optional(),
  /** A user's id; absent means that an integration sent it. */
  sentBy: z.int().optional(),
  /** The carrier's word for an outbound text; null when no receipt ever comes. */
  delivery: z.string().nullable().optional(),
  /** False: no webhook tells of it. */
  announce: z.boolean().default(true),
});
export type SmsEvent = z.input<typeof smsEvent>;

export interface SmsMade {
  id: number;
  line: string;
  number: string;
  participants: string[];
}

type World = CarrierWorld & Pick<Context, 'directory'>;

/** Lets a text arrive or go out, tells the subscribers, and lets the carrier's receipt follow. */
export function provokeSms(world: World, event: z.output<typeof smsEvent>): SmsMade {
  const { store, directory, random, now } = world;
  const line = event.line === undefined ? random.pick(store.lines.values()).number : requireNumber(event.line, 'line');
  if (store.lines.get(line) === undefined) {
    throw invalidRequest(`line must be an SMS line of the account, got ${line}`);
  }
  if (event.sentBy !== undefined && store.users.get(event.sentBy) === undefined) {
    throw invalidRequest(`sentBy must be a user of the account, got ${event.sentBy}`);
  }
  const given = event.number === undefined ? undefined : requireNumber(event.number, 'number');
  const participants = partiesOf(event.participants ?? [], given);
  const speaker = given ?? participants[0] ?? random.pick(directory.customers).number;

  const message: Message = {
    id: store.messages.nextId(),
    line,
    number: participants[0] ?? speaker,
    participants,
    direction: event.direction,
    from: event.direction === 'in' ? speaker : line,
    text: event.text ?? (event.media.length > 0 ? '' : random.pick(event.direction === 'in' ? openers : replies)),
    media: event.media,
    sentAt: event.sentAt === undefined ? now().getTime() : Date.parse(event.sentAt),
    readBy: event.sentBy === undefined ? [] : [event.sentBy],
    readByAccount: false,
    ...(event.sentBy === undefined ? {} : { sentBy: event.sentBy }),
  };
  if (event.direction === 'in') takeIn(world, message, { announced: event.announce });
  else sendOut(world, message, { announced: event.announce, receipt: event.delivery });
  return { id: message.id, line, number: message.number, participants };
}

/** A single participant is no group. */
function partiesOf(participants: readonly string[], number: string | undefined): string[] {
  const parties = participants.map((party, index) => requireNumber(party, `participants[${index}]`));
  const distinct = [...new Set(number === undefined ? parties : [...parties, number])].sort();
  return distinct.length > 1 ? distinct : [];
}
