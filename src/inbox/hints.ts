import type { CallHint, Hint, MessageHint, ThreadHint } from '../events/hint.ts';
import { threadKey } from '../warehouse/entities/texts/conversations.ts';
import type { DueTarget } from './deliveries.ts';

/** A call that still rings is not in the history yet. */
const liveCallSeconds = 60;

/** What a delivery's hints point at by themselves, and the texts whose threads the mirror may know. */
export interface Pointed {
  readonly targets: readonly DueTarget[];
  readonly messageIds: readonly string[];
}

export function pointedAt(hints: readonly Hint[]): Pointed {
  const messages = hints.filter((hint): hint is MessageHint => hint.kind === 'message');
  return {
    targets: hints.flatMap((hint) => (hint.kind === 'message' ? [] : [targetOf(hint)])),
    messageIds: messages.map(({ messageId }) => messageId),
  };
}

function targetOf(hint: ThreadHint | CallHint): DueTarget {
  if (hint.kind === 'thread') {
    const { messageId } = hint;
    return { kind: 'thread', key: threadKey(hint), ...(messageId !== undefined && { messageId }) };
  }
  if (hint.why === 'transcript') return { kind: 'transcripts', key: hint.callId };
  return { kind: 'call', key: hint.callId, ...(hint.why === 'live' && { afterSeconds: liveCallSeconds }) };
}
