/** What a delivery points at: a thing to read again through the API. A hint is never data. */
export type Hint = ThreadHint | CallHint | MessageHint;

/**
 * A conversation (specification 2.5). `participants` is empty unless it is a group: then it holds the other parties,
 * normalised, distinct and sorted, and `number` is the first of them.
 */
export interface ThreadHint {
  kind: 'thread';
  line: string;
  number: string;
  participants: readonly string[];
  messageId?: string;
}

/** A call: it rings or talks (`live`), it is over (`ended`), or its transcript has news (`transcript`). */
export interface CallHint {
  kind: 'call';
  callId: string;
  why: 'ended' | 'live' | 'transcript';
}

/** A text of which nothing but the id is told, as a receipt may: the service finds none by it, the mirror may hold it. */
export interface MessageHint {
  kind: 'message';
  messageId: string;
}

/** Two hints with the same key ask for the same read for the same reason. */
export function hintKey(hint: Hint): string {
  switch (hint.kind) {
    case 'call':
      return `${hint.callId} ${hint.why}`;
    case 'message':
      return hint.messageId;
    case 'thread':
      return `${hint.line} ${hint.number} ${hint.participants.join()} ${hint.messageId}`;
  }
}
