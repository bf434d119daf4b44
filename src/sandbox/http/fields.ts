import { z } from 'zod';
import { normalizeNumber } from '../phone-number.ts';

/** What several endpoints take or answer, as schemas: they validate, and they describe the API in its own document. */

/** Section 4: formatted input is accepted and normalized. */
export const phoneNumber = z
  .string()
  .transform((text, context) => {
    const number = normalizeNumber(text);
    if (number !== null) return number;
    context.addIssue({ code: 'custom', message: `must be a phone number, got ${JSON.stringify(text)}` });
    return z.NEVER;
  })
  .describe('A phone number; formatting is stripped, and ten digits get the country code 1.');

export const linePath = z.object({ line: phoneNumber });

/** A conversation has no id: it is the pair of the account's line and the other party's number (2.5). */
export const pairPath = z.object({ line: phoneNumber, number: phoneNumber });

/** An id in a path. */
export const idField = z
  .string()
  .regex(/^\d{1,15}$/, 'must be an integer')
  .transform(Number);

export const idPath = z.object({ id: idField });

/** A count in a query. */
export const countField = z
  .string()
  .regex(/^\d{1,15}$/, 'must be an integer, 0 or more')
  .transform(Number);

export const instant = z.iso.datetime({ offset: true }).describe('RFC 3339');

/** The envelope of every successful answer. */
export function dataOf<Schema extends z.ZodType>(schema: Schema): z.ZodObject<{ data: Schema }> {
  return z.object({ data: schema });
}

/** The answer of an operation that has nothing to say (status 204). */
export const nothing = z.void().describe('Done; the body is empty.');
