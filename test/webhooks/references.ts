import type { Reference } from '../../src/webhooks/references.ts';

export const ours = '18457511133';
export const ourOther = '18457511144';
export const customer = '18455008085';
export const friend = '18455550123';
export const stranger = '18459990000';
export const ended = '1783386668.111111';
export const ringing = '1783385492.057900';

/** A text from a customer to one of our lines, as far as the two numbers tell it. */
export const between = { from: customer, to: ours, direction: 'incoming' };

const names = Object.entries({ ours, ourOther, customer, friend, stranger, ended, ringing });
const named = (value: string) => names.find(([, each]) => each === value)?.[0] ?? value;

/**
 * References as a line of text: `line/number #message` of a text, `line/number+number` of a group, `id (why)` of a call and
 * `#message` of what is named by its id alone.
 */
export function shown(references: readonly Reference[]): string {
  return references.map(shownOne).join(', ');
}

function shownOne(reference: Reference): string {
  if (reference.kind === 'call') return `${named(reference.callId)} (${reference.why})`;
  if (reference.kind === 'message') return `#${reference.messageId}`;
  const { line, number, participants, messageId } = reference;
  if (participants.length > 0 && participants[0] !== number)
    throw new Error('a group is named by its first participant');
  const others = participants.length > 0 ? participants : [number];
  return `${named(line)}/${others.map(named).join('+')}${messageId === undefined ? '' : ` #${messageId}`}`;
}
