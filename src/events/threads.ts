import type { MessageHint, ThreadHint } from './hint.ts';
import { type EventNode, inheritedWord, ownNumbers } from './node.ts';

const fromFields = ['fromnumber', 'from', 'sender', 'snumber'];
const toFields = ['tonumber', 'to', 'receiver', 'recipient', 'recipients'];
const addresseeFields = ['number'];
const messageIdFields = ['messageid', 'msgid', 'smsid'];
const anyIdFields = [...messageIdFields, 'id'];

const inbound = new Set(['in', 'inbound', 'incoming', 'received']);
const outbound = new Set(['out', 'outbound', 'outgoing', 'sent']);

/** Above this a list is no conversation: a send reaches at most 20 recipients (specification 8). */
const maxParties = 64;

/** The conversations that an SMS event belongs to, one for each of our lines that takes part in it. */
export function threadHints(node: EventNode, isOurLine: (number: string) => boolean): ThreadHint[] {
  const explicit = node.line;
  const from = ownNumbers(node, fromFields);
  const to = ownNumbers(node, toFields);
  const parties: string[] = [];
  join(parties, from);
  join(parties, to);
  // What tells of no text of its own does not become one by those who take part around it.
  join(parties, from.length + to.length > 0 ? node.participants : node.ownParticipants);
  if (explicit !== undefined) join(parties, ownNumbers(node, addresseeFields));
  if (parties.length === 0) return [];
  if (explicit !== undefined) join(parties, [explicit]);

  const ours = parties.filter((number) => number === explicit || isOurLine(number));
  const lines = ours.length > 0 ? ours : linesByDirection(inheritedWord(node, 'direction'), from, to);
  const isToSelf = from.length > 0 && to.length > 0;
  const messageId = idUnder(anyIdFields, node);
  const hints: ThreadHint[] = [];
  for (const line of lines) {
    const others = parties.filter((number) => number !== line);
    if (others.length === 0 && isToSelf) others.push(line);
    const thread = threadBetween(line, others);
    if (thread !== undefined) hints.push(messageId === undefined ? thread : { ...thread, messageId });
  }
  return hints;
}

/** The text that an SMS event names without saying who wrote to whom: a stranger's plain `id` is of something else. */
export function messageHints(node: EventNode): MessageHint[] {
  const messageId = idUnder(node.isStranger ? messageIdFields : anyIdFields, node);
  return messageId === undefined ? [] : [{ kind: 'message', messageId }];
}

function join(parties: string[], numbers: readonly string[]): void {
  for (const number of numbers) {
    if (parties.length < maxParties && !parties.includes(number)) parties.push(number);
  }
}

/**
 * With no party known as ours the direction decides; without one each side may be the line, and a spare read costs
 * little. Where one is known the direction adds nothing: a text between two of our lines is in both threads.
 */
function linesByDirection(direction: string, from: string[], to: string[]): string[] {
  if (inbound.has(direction) && to.length > 0) return to;
  if (outbound.has(direction) && from.length > 0) return from;
  return [...from, ...to];
}

function threadBetween(line: string, others: string[]): ThreadHint | undefined {
  const participants = others.length > 1 ? others.sort() : [];
  const number = others[0];
  return number === undefined ? undefined : { kind: 'thread', line, number, participants };
}

function idUnder(names: readonly string[], { fields }: EventNode): string | undefined {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' ? Number.isSafeInteger(value) && value >= 0 : isDigits(value)) return String(value);
  }
  return undefined;
}

function isDigits(value: unknown): boolean {
  return typeof value === 'string' && /^\d{1,18}$/.test(value);
}
