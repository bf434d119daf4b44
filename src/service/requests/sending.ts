import { normalizeNumber } from '../../numbers.ts';
import { type Attachment, attachmentsFault } from './attachments.ts';
import { isPhoneNumber, numberFault } from './numbers.ts';

interface Addressed {
  /** A number of `lines.list`; never defaulted. Formatting is stripped, and no country code is added. */
  from: string;
  /**
   * 1 to 20 distinct recipients. Two or more make one group thread, billed as mms; independent messages are sends of
   * their own (section 2.4).
   */
  to: readonly string[];
}

/** A send (section 2.2): text of at most 2,000 bytes in UTF-8, up to 10 pictures, or both. */
export type SendRequest = Addressed &
  ({ message: string; attachments?: readonly Attachment[] } | { message?: string; attachments: readonly Attachment[] });

/** Distinct recipients of one send (section 8). */
const mostRecipients = 20;

/** Bytes of a message's text in UTF-8 (section 8). */
const mostBytes = 2_000;

/** The body of a send. Recipients go as they were given: the service normalises them, and names those it skips so (2.3). */
export function sendBody({ from, to, message, attachments }: SendRequest) {
  return { from: from.replace(/\D+/g, ''), to, message, attachments };
}

/** Why the service must refuse this send (sections 2.2 and 7), or `undefined`. */
export function sendFault({ from, to, message = '', attachments = [] }: SendRequest): string | undefined {
  return (
    numberFault('from', from) ??
    recipientsFault(to) ??
    messageFault(message, attachments.length > 0) ??
    attachmentsFault(attachments)
  );
}

function recipientsFault(to: readonly string[]): string | undefined {
  if (to.length === 0) return '`to` is empty: name 1 to 20 recipients (section 2.2)';
  const { size } = new Set(to.map((each) => (isPhoneNumber(each) ? normalizeNumber(each) : each)));
  if (size <= mostRecipients) return undefined;
  return `\`to\` has ${size} distinct recipients and ${mostRecipients} is the most: name fewer (section 8)`;
}

function messageFault(message: string, hasAttachments: boolean): string | undefined {
  if (!hasAttachments && message.trim() === '') {
    return '`message` is empty or only white space: write something, or attach a file (section 2.2)';
  }
  const bytes = Buffer.byteLength(message);
  if (bytes <= mostBytes) return undefined;
  return `\`message\` has ${bytes} bytes in UTF-8 and ${mostBytes} is the most: shorten it (section 8)`;
}
