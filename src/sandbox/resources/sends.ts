import { z } from 'zod';
import { dollars } from '../billing/rates.ts';
import type { Charge } from '../entities/texting.ts';
import type { History } from '../history.ts';
import type { SendOutcome } from '../sending/send.ts';
import type { Store } from '../store/store.ts';
import type { Links } from './links.ts';

const type = z.enum(['sms', 'mms']);

/** Section 2.3. */
export const sendSchema = z
  .object({
    from: z.string(),
    billing: z.object({
      billed: z.literal(true).describe('Describes the endpoint, not the call.'),
      currency: z.literal('USD'),
      type,
      units: z.int().describe('Segments for sms, 1 for mms; 0 when all recipients were skipped.'),
      totalPrice: z.number().describe('0 if nothing was sent.'),
      recipientCount: z.int().describe('Destinations reached; it does not multiply the price.'),
      skippedCount: z.int(),
    }),
    messages: z.array(
      z.object({
        id: z.int().optional().describe('Absent when the gateway returned none.'),
        to: z.array(z.string()).describe('Normalized.'),
        type,
        status: z.string().describe('`sent`: the gateway accepted it, not that a handset received it.'),
        media: z.array(z.string()).optional().describe('Publicly fetchable; treat as secrets.'),
        units: z.int(),
        unitPrice: z.number().describe('In a group on different rates, the highest.'),
        price: z.number().describe('unitPrice × units.'),
      }),
    ),
    skipped: z.array(
      z.object({
        to: z.string().describe('As supplied.'),
        reason: z.enum(['opted_out', 'duplicate', 'invalid']),
      }),
    ),
  })
  .meta({ id: 'Send' });

/** The answer to a send that was priced: its one message, or none when every recipient was skipped. */
export function sendResource(
  from: string,
  sent: Exclude<SendOutcome, { outcome: 'unrated' }>,
  links: Links,
): z.output<typeof sendSchema> {
  const { billing, skipped } = sent;
  if (sent.outcome === 'nothing') return { from, billing, messages: [], skipped };
  const { message, hasId, reached, unitPrice, price } = sent;
  const media = message.media.map((file) => links.media(file));
  const dispatched = {
    ...(hasId ? { id: message.id } : {}),
    to: reached,
    type: billing.type,
    status: 'sent',
    ...(media.length > 0 ? { media } : {}),
    units: billing.units,
    unitPrice,
    price,
  };
  return { from, billing, messages: [dispatched], skipped };
}

/** One POST of a send, what it was answered, and what it cost. */
export interface SendRecord {
  at: string;
  /** Name of the credential; null when there was no valid one. */
  key: string | null;
  /** Null for a charge whose answer did not leave, or left before the sandbox was last started. */
  status: number | null;
  /** Dollars; 0 when nothing was charged. */
  totalPrice: number;
  charge: Charge | null;
}

/** The last sends, oldest first: every POST that was answered, and every charge, whether its answer left or not. */
export function sendRecords(
  { charges }: Pick<Store, 'charges'>,
  { sends }: Pick<History, 'sends'>,
  limit = Number.POSITIVE_INFINITY,
): SendRecord[] {
  const answers = sends.list();
  const answered = new Set(answers.map(({ chargeId }) => chargeId));
  const records = [
    ...charges
      .values()
      .filter(({ id }) => !answered.has(id))
      .map((charge) => record({ at: charge.at, key: charge.key, status: null }, charge)),
    ...answers.map(({ chargeId, ...answer }) =>
      record(answer, chargeId === null ? null : (charges.get(chargeId) ?? null)),
    ),
  ];
  records.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
  return limit === 0 ? [] : records.slice(-limit);
}

function record(answer: Pick<SendRecord, 'at' | 'key' | 'status'>, charge: Charge | null): SendRecord {
  return { ...answer, totalPrice: charge === null ? 0 : dollars(charge.totalMicros), charge };
}
