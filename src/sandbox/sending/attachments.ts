import { z } from 'zod';
import { assumptions } from '../assumptions.ts';

const { attachmentBytes: mostBytes, otherExtensions } = assumptions;

const typeByExtension = new Map([
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['bmp', 'image/bmp'],
  ['gif', 'image/gif'],
]);

const attachment = z
  .strictObject({
    filename: z
      .string()
      .refine((name) => extensionOf(name) !== undefined, 'must carry an extension such as "photo.jpg"')
      .describe('With an extension: it decides the content type shown to the handset.'),
    contentType: z.enum(['image/jpeg', 'image/png', 'image/bmp', 'image/gif']),
    content: z
      .string()
      .superRefine((content, context) => {
        const message = contentProblem(content);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      })
      .describe('Standard base64, at most 5 MB decoded.'),
  })
  .meta({ id: 'Attachment' });

export type Attachment = z.output<typeof attachment>;

/** The files of one send (2.2). */
export const attachmentList = z.array(attachment).max(10, 'must be at most 10 files');

/** The content type that the handset is shown: the extension decides it, whatever was declared (2.2). */
export function contentTypeOf(filename: string): string {
  return typeByExtension.get(extensionOf(filename) ?? '') ?? otherExtensions;
}

/** In lower case. Something stands before its dot: `.gitignore` and `folder.d/photo` have none, nor has `photo.`. */
export function extensionOf(filename: string): string | undefined {
  const name = filename.slice(Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\')) + 1);
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1).toLowerCase();
  const isNamed = dot > 0 && /[^.\s]/.test(name.slice(0, dot));
  return isNamed && /^[a-z0-9]+$/.test(extension) ? extension : undefined;
}

function contentProblem(content: string): string | undefined {
  const bytes = decodedBytes(content);
  if (bytes === undefined) return 'must be standard base64 with padding, without line breaks';
  if (bytes === 0) return 'must not be empty';
  if (bytes > mostBytes) return `must be at most 5 MB (${mostBytes} bytes) decoded, got ${bytes} bytes`;
  return undefined;
}

/** How many bytes standard base64 (RFC 4648, section 4) stands for, without decoding it; undefined when it is none. */
function decodedBytes(content: string): number | undefined {
  if (content.length % 4 !== 0) return undefined;
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  const firstStranger = content.search(/[^A-Za-z0-9+/]/);
  if (firstStranger !== (padding > 0 ? content.length - padding : -1)) return undefined;
  return (content.length / 4) * 3 - padding;
}
