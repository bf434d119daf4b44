import type { EventType } from '../shared/event-types.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { ObjectId } from './transport/operation.ts';

/** What operations take. What the service refuses with 400 is not checked here, sends apart. */

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
  /** The service refuses one out of its range, which is not specified, with `invalid_request`. */
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

/** Distinct recipients of one send (section 8). */
const maxRecipients = 20;

/** Bytes of a message's text in UTF-8 (section 8). */
const maxTextBytes = 2_000;

/** The body of a send. Recipients are not normalised: the service does that, and reports skipped ones as given (2.3). */
export function sendBody({ from, to, message, attachments }: SendRequest) {
  return { from: from.replace(/\D+/g, ''), to, message, attachments };
}

/**
 * Why the service must refuse this send (sections 2.2 and 7): the field, the limit, the remedy and the section, without numbers or
 * text. Undefined when it need not. Sends alone are checked here: whatever else is wrong, the service refuses free of charge.
 */
export function sendProblem({ from, to, message = '', attachments = [] }: SendRequest): string | undefined {
  return (
    (isPhoneNumber(from) ? undefined : '`from` is no phone number: give 3 to 15 digits (section 2.4)') ??
    recipientsProblem(to) ??
    messageProblem(message, attachments.length > 0) ??
    attachmentsProblem(attachments)
  );
}

function recipientsProblem(to: readonly string[]): string | undefined {
  if (to.length === 0) return '`to` is empty: name 1 to 20 recipients (section 2.2)';
  const { size } = new Set(to.map((each) => (isPhoneNumber(each) ? normalizeNumber(each) : each)));
  if (size <= maxRecipients) return undefined;
  return `\`to\` has ${size} distinct recipients and ${maxRecipients} is the most: name fewer (section 8)`;
}

function messageProblem(message: string, hasAttachments: boolean): string | undefined {
  if (!hasAttachments && message.trim() === '') {
    return '`message` is empty or only white space: write something, or attach a file (section 2.2)';
  }
  const bytes = Buffer.byteLength(message);
  if (bytes <= maxTextBytes) return undefined;
  return `\`message\` has ${bytes} bytes in UTF-8 and ${maxTextBytes} is the most: shorten it (section 8)`;
}

const contentTypes = ['image/jpeg', 'image/png', 'image/bmp', 'image/gif'] as const;

/** A picture to send (section 2.2). Up to 1 MB delivers reliably (section 8). */
export interface Attachment {
  /** With an extension: it decides how the handset shows the file. */
  filename: string;
  contentType: (typeof contentTypes)[number];
  /** Standard base64, with padding and without line breaks, of at most 5 MB. */
  content: string;
}

/** Files of one send (section 8). */
const maxAttachments = 10;

/** Bytes of one file, decoded (section 8). "5 MB" may mean 5,000,000: the service decides about files in between. */
const maxAttachmentBytes = 5 * 1024 * 1024;

const allowed = new Set<string>(contentTypes);

/** Why the service must refuse these attachments (sections 2.2 and 8). */
function attachmentsProblem(attachments: readonly Attachment[]): string | undefined {
  if (attachments.length > maxAttachments) {
    return `\`attachments\` has ${attachments.length} files and ${maxAttachments} is the most: send fewer (section 8)`;
  }
  return attachments
    .map((each, i) => attachmentProblem(each, `attachments[${i}]`))
    .find((problem) => problem !== undefined);
}

function attachmentProblem({ filename, contentType, content }: Attachment, at: string): string | undefined {
  if (!/\.[^.\s]+$/.test(filename)) {
    return `\`${at}.filename\` lacks an extension, which decides how the handset shows it: add one (section 2.2)`;
  }
  if (!allowed.has(contentType)) {
    return `\`${at}.contentType\` should be one of ${contentTypes.join(', ')} (section 2.2)`;
  }
  return contentProblem(content, `${at}.content`);
}

function contentProblem(content: string, field: string): string | undefined {
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  const bytes = Math.floor((content.length * 3) / 4) - padding;
  if (bytes > maxAttachmentBytes) {
    return `\`${field}\` has ${bytes} bytes decoded and 5 MB is the most: send a smaller image (section 8)`;
  }
  const digits = content.slice(0, content.length - padding);
  if (content.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits)) return undefined;
  return `\`${field}\` is not standard base64: use A–Z a–z 0–9 + / with its padding and no line breaks (section 2.2)`;
}

// Allowed between the digits: spaces, brackets, dots, slashes, hyphens, dashes and a plus.
const formatted = /^[\s()+./\-\u2010-\u2015\u2212]*(?:\d[\s()+./\-\u2010-\u2015\u2212]*){3,15}$/;

/** Whether a text is a phone number, from a short code's three digits to E.164's fifteen, formatted or not. */
function isPhoneNumber(text: string): boolean {
  return formatted.test(text);
}
