import type { EventType } from '../shared/event-types.ts';
import type { ObjectId } from './transport/operation.ts';

/** What operations take. Any other mistake in a request is refused by the service, free of charge. */

/** A conversation has no id: our line and their number identify it, or our line and a group (section 2.5). */
export interface ThreadAddress {
  line: string;
  number: string;
  groupParticipants?: readonly string[] | undefined;
}

/** A conversation of two parties: the service ignores a group in a change (section 4.2). */
export interface Pair {
  line: string;
  number: string;
  groupParticipants?: never;
}

export interface ThreadPage {
  /** The service refuses one out of its range, which isn't specified, with `invalid_request`. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** Marks the returned messages read for the calling user. Only true is ever sent. */
  markRead?: true | undefined;
}

export interface Resolution {
  /** The user to credit. */
  resolvedBy?: number | undefined;
  /** An internal note, never shown to the other party. */
  comment?: string | undefined;
}

export interface ReadMarks {
  /** 1 to 50 messages of the thread. */
  messageIds: readonly ObjectId[];
  /** False marks them unread. Default true. */
  read?: boolean | undefined;
}

type Direction = 'inbound' | 'outbound';

/** Either end may be left out. */
export interface Range {
  start?: string | undefined;
  end?: string | undefined;
}

/** Section 4.6: excludes apply after includes; durations are text in seconds, times of day `HH:MM`. */
export interface CallFilters {
  numbers?: readonly string[] | undefined;
  numbersExclude?: readonly string[] | undefined;
  extensions?: readonly string[] | undefined;
  extensionsExclude?: readonly string[] | undefined;
  queues?: readonly string[] | undefined;
  queuesExclude?: readonly string[] | undefined;
  huntgroups?: readonly string[] | undefined;
  huntgroupsExclude?: readonly string[] | undefined;
  users?: readonly string[] | undefined;
  directions?: readonly Direction[] | undefined;
  statuses?: readonly ('answered' | 'missed' | 'voicemail')[];
  search?: string | undefined;
  duration?: Range | undefined;
  talkTime?: Range | undefined;
  waitTime?: Range | undefined;
  timeOfDay?: Range | undefined;
  callPurpose?: readonly string[] | undefined;
  callSentiment?: readonly string[] | undefined;
}

export interface CallSearch {
  /** Unix seconds. */
  start: number;
  /** Unix seconds, after `start`, at most 366 days after it. */
  end: number;
  timeZone?: string | undefined;
  /** The service's default is 50 and its cap 500. */
  limit?: number | undefined;
  offset?: number | undefined;
  direction?: Direction | undefined;
  filters?: CallFilters | undefined;
  /** `field` is the name of a response field. Without it the newest come first. */
  sort?: { field: string; direction: 'asc' | 'desc' };
}

export interface SubscriptionChanges {
  name?: string | undefined;
  description?: string | undefined;
  /** http or https, at most 1,024 characters. */
  url?: string | undefined;
  type?: EventType | undefined;
  enabled?: boolean | undefined;
}

export interface NewSubscription extends SubscriptionChanges {
  name: string;
  url: string;
  type: EventType;
}

// Not yet in TypeScript's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** An id for a JSON body: always a number, with all its digits. */
export function idInJson(value: ObjectId): unknown {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? rawJSON(String(BigInt(value))) : value;
}

interface Addressed {
  /** A number of `lines.list`, without default. Formatting is stripped; no country code is added. */
  from: string;
  /**
   * 1 to 20 distinct recipients. Two or more make one group thread, billed as mms. For independent messages, send each
   * by itself (section 2.4).
   */
  to: readonly string[];
}

/** A send (section 2.2): text of at most 2,000 bytes in UTF-8, up to 10 pictures, or both. */
export type SendRequest = Addressed &
  ({ message: string; attachments?: readonly Attachment[] } | { message?: string; attachments: readonly Attachment[] });

/** The body of a send. The service normalises recipients, and reports skipped ones as given (2.3). */
export function sendBody({ from, to, message, attachments }: SendRequest) {
  return { from: from.replace(/\D+/g, ''), to, message, attachments };
}

/** A picture to send (section 2.2). Up to 1 MB delivers reliably (section 8). */
export interface Attachment {
  /** With an extension: it decides how the handset shows the file. */
  filename: string;
  contentType: 'image/jpeg' | 'image/png' | 'image/bmp' | 'image/gif';
  /** Standard base64, with padding and without line breaks, of at most 5 MB. */
  content: string;
}
