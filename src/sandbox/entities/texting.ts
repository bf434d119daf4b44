/** What the account keeps about texting beside the messages themselves (2.3, 2.5, 2.7). */

/** An internal note: it is kept here and nothing can deliver it to the other party (4.2). */
export interface Note {
  /** Absent when an integration wrote it. */
  by?: number;
  text: string;
  at: number;
}

/** State of the thread between a line and a number; times in milliseconds. Resolved and assigned are separate axes. */
export interface ConversationState {
  line: string;
  number: string;
  resolved: boolean;
  resolvedBy?: number;
  resolvedAt?: number;
  assignedTo?: number;
  notes: Note[];
}

export interface BlockedSender {
  line: string;
  number: string;
  reason: string;
  blockedAt: number;
}

/** The number replied STOP to the line; it stands until the number replies START. */
export interface OptOut {
  line: string;
  number: string;
  at: number;
}

export interface Draft {
  draftId: string;
  message: string;
}

export interface Template {
  id: number;
  /** The user who saved it. */
  userId: number;
  title: string;
  body: string;
}

/** A file that went with a message; `file` is its name within the hosted media, and decides the content type (2.2). */
export interface HostedFile {
  file: string;
  contentType: string;
  /** Base64. */
  content: string;
}

/** How a customer, and the gateway that leads there, behaves when a text goes to it. The service knows nothing of it. */
export interface CustomerHabit {
  number: string;
  /** Null: it answers nothing by itself. */
  autoReply: string | null;
  /** How long the answer takes, in milliseconds. */
  afterMs: number;
  /** Whether the gateway returns an id for a message (2.3). */
  returnsId: boolean;
}

/** One request to send that the account was charged for, as its invoice would show it. */
export interface Charge {
  id: number;
  /** RFC 3339, to the millisecond. */
  at: string;
  /** Name of the credential. */
  key: string;
  from: string;
  to: string[];
  type: 'sms' | 'mms';
  units: number;
  /** Micro-dollars. */
  totalMicros: number;
  /** The message in its thread, also when the gateway returned no id. */
  messageIds: number[];
}
