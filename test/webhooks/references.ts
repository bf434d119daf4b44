import type { CallReference, Reference } from '../../src/webhooks/references.ts';

export const ours = '18457511133';
export const ourOther = '18457511144';
export const customer = '18455008085';
export const friend = '18455550123';
export const stranger = '18459990000';
export const ended = '1783386668.111111';
export const ringing = '1783385492.057900';

/** A text from a customer to one of our lines, as far as the two numbers tell it. */
export const between = { from: customer, to: ours, direction: 'incoming' };

export function thread(line: string, number: string, messageId?: string): Reference {
  return { kind: 'thread', line, number, participants: [], ...(messageId === undefined ? {} : { messageId }) };
}

export function group(line: string, participants: string[], messageId?: string): Reference {
  return { ...thread(line, participants[0] ?? '', messageId), participants } as Reference;
}

export function call(callId: string, why: CallReference['why']): Reference {
  return { kind: 'call', callId, why };
}
