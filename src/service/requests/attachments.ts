import { firstFault } from './faults.ts';

const contentTypes = ['image/jpeg', 'image/png', 'image/bmp', 'image/gif'] as const;

/** A picture to send (section 2.2). One of 1 MB or less delivers reliably (section 8). */
export interface Attachment {
  /** With an extension: it decides what the handset shows. */
  filename: string;
  contentType: (typeof contentTypes)[number];
  /** Standard base64, with padding and without line breaks, of at most 5 MB. */
  content: string;
}

/** Files of one send (section 8). */
const mostAttachments = 10;

/** Bytes of one file, decoded (section 8). The larger reading of "5 MB": what lies between is for the service to say. */
const mostBytes = 5 * 1024 * 1024;

const allowed = new Set<string>(contentTypes);

/** Why the service must refuse these attachments (sections 2.2 and 8). */
export function attachmentsFault(attachments: readonly Attachment[]): string | undefined {
  if (attachments.length > mostAttachments) {
    return `\`attachments\` has ${attachments.length} files and ${mostAttachments} is the most: send fewer (section 8)`;
  }
  return firstFault(attachments, (attachment, i) => attachmentFault(attachment, `attachments[${i}]`));
}

function attachmentFault({ filename, contentType, content }: Attachment, at: string): string | undefined {
  if (!/\.[^.\s]+$/.test(filename)) {
    return `\`${at}.filename\` lacks an extension, which decides what the handset shows: add one (section 2.2)`;
  }
  if (!allowed.has(contentType)) {
    return `\`${at}.contentType\` should be one of ${contentTypes.join(', ')} (section 2.2)`;
  }
  return contentFault(content, `${at}.content`);
}

function contentFault(content: string, field: string): string | undefined {
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  const bytes = Math.floor((content.length * 3) / 4) - padding;
  if (bytes > mostBytes) {
    return `\`${field}\` has ${bytes} bytes decoded and 5 MB is the most: send a smaller image (section 8)`;
  }
  const digits = content.slice(0, content.length - padding);
  if (content.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits)) return undefined;
  return `\`${field}\` is not standard base64: use A–Z a–z 0–9 + / with its padding and no line breaks (section 2.2)`;
}
