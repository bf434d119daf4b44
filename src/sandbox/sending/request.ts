import { z } from 'zod';
import { stripFormatting } from '../phone-number.ts';
import { countDistinct } from './billing.ts';

const maxBytes = 5 * 1024 * 1024;

const typeByExtension = new Map([
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['bmp', 'image/bmp'],
  ['gif', 'image/gif'],
]);

const attachment = z.strictObject({
  filename: z.string().refine((name) => extensionOf(name) !== undefined, 'must carry an extension such as "photo.jpg"'),
  contentType: z.enum(['image/jpeg', 'image/png', 'image/bmp', 'image/gif']),
  content: z.string().superRefine((content, context) => {
    const message = contentProblem(content);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  }),
});

/** The files of one send (2.2). */
export const attachmentList = z.array(attachment).max(10, 'must be at most 10 files');

/** The content type shown to the handset: the extension decides, not the declared type (2.2). */
export function contentTypeOf(filename: string): string {
  return typeByExtension.get(extensionOf(filename) ?? '') ?? 'application/octet-stream';
}

/** The extension in lower case. `.gitignore`, `folder.d/photo` and `photo.` have none. */
export function extensionOf(filename: string): string | undefined {
  const name = filename.slice(Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\')) + 1);
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1).toLowerCase();
  const hasStem = dot > 0 && /[^.\s]/.test(name.slice(0, dot));
  return hasStem && /^[a-z0-9]+$/.test(extension) ? extension : undefined;
}

function contentProblem(content: string): string | undefined {
  const bytes = decodedBytes(content);
  if (bytes === undefined) return 'must be standard base64 with padding, without line breaks';
  if (bytes === 0) return 'must not be empty';
  if (bytes > maxBytes) return `must be at most 5 MB (${maxBytes} bytes) decoded, got ${bytes} bytes`;
  return undefined;
}

/** The decoded size of standard base64 (RFC 4648, section 4); undefined when the text isn't base64. */
function decodedBytes(content: string): number | undefined {
  if (content.length % 4 !== 0) return undefined;
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  const firstInvalid = content.search(/[^A-Za-z0-9+/]/);
  if (firstInvalid !== (padding > 0 ? content.length - padding : -1)) return undefined;
  return (content.length / 4) * 3 - padding;
}

const maxRecipients = 20;
const maxMessageBytes = 2_000;

/** Formatting is stripped, but no country code is added: lines are listed in the exact format of `from` (2.1). */
const sender = z
  .string()
  .transform(stripFormatting)
  .pipe(z.string().regex(/^\d+$/, 'must be a line of the account, in digits'));

/** The body of a send (2.2). */
export const sendBody = z
  .strictObject({
    from: sender,
    to: z
      .array(z.string())
      .min(1, 'must name at least one recipient')
      .refine((to) => countDistinct(to) <= maxRecipients, `must name at most ${maxRecipients} distinct recipients`),
    message: z
      .string()
      .refine(
        (text) => Buffer.byteLength(text) <= maxMessageBytes,
        `must be at most ${maxMessageBytes.toLocaleString('en-US')} bytes of UTF-8`,
      )
      .default(''),
    attachments: attachmentList.default([]),
  })
  .refine(({ message, attachments }) => attachments.length > 0 || message.trim() !== '', {
    path: ['message'],
    message: 'must be more than white space unless attachments are sent',
  });

export type SendOrder = z.output<typeof sendBody>;
