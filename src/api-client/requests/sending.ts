import { normalizeNumber } from '../../shared/numbers.ts';
import { firstProblem, isPhoneNumber, numberProblem } from './parameters.ts';

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

/** Why the service must refuse this send (sections 2.2 and 7); `undefined` when it need not. */
export function sendProblem({ from, to, message = '', attachments = [] }: SendRequest): string | undefined {
  return (
    numberProblem('from', from) ??
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
  return firstProblem(attachments, (attachment, i) => attachmentProblem(attachment, `attachments[${i}]`));
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
