import { z } from 'zod';
import { countDistinct } from '../billing/recipients.ts';
import { stripFormatting } from '../phone-number.ts';
import { attachmentList } from './attachments.ts';

const mostRecipients = 20;
const mostBytes = 2_000;

/**
 * Formatting is stripped, and nothing is added: the normalization of 2.4 is for recipients, and a line is listed in the
 * exact form that `from` takes (2.1).
 */
const sender = z
  .string()
  .transform(stripFormatting)
  .pipe(z.string().regex(/^\d+$/, 'must be a line of the account, in digits'))
  .describe('A line, as the list of lines shows it; formatting is stripped. Never defaulted.');

/** A send (2.2): whatever is wrong with it alone is a 400. */
export const sendBody = z
  .strictObject({
    from: sender,
    to: z
      .array(z.string())
      .min(1, 'must name at least one recipient')
      .refine((to) => countDistinct(to) <= mostRecipients, `must name at most ${mostRecipients} distinct recipients`)
      .describe('1 to 20 distinct recipients; two or more create a group thread.'),
    message: z
      .string()
      .refine(
        (text) => Buffer.byteLength(text) <= mostBytes,
        `must be at most ${mostBytes.toLocaleString('en-US')} bytes of UTF-8`,
      )
      .default('')
      .describe('At most 2,000 bytes of UTF-8. Required unless attachments are sent.'),
    attachments: attachmentList.default([]),
  })
  .refine(({ message, attachments }) => attachments.length > 0 || message.trim() !== '', {
    path: ['message'],
    message: 'must be more than white space unless attachments are sent',
  });

export type SendOrder = z.output<typeof sendBody>;
