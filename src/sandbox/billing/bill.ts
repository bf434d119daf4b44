import type { Rate } from '../entities/settings.ts';
import { dollars, rateFor } from './rates.ts';
import { countDistinct, type Recipients } from './recipients.ts';
import { countSegments } from './segments.ts';

/** The billing block of the answer to a send (2.3); `totalPrice` in dollars. */
export interface Billing {
  billed: true;
  currency: 'USD';
  type: 'sms' | 'mms';
  units: number;
  totalPrice: number;
  recipientCount: number;
  skippedCount: number;
}

export type Bill =
  /** Send it and charge it: 201. Prices in dollars as the answer shows them, the total also in micro-dollars. */
  | { outcome: 'charged'; billing: Billing; unitPrice: number; price: number; totalMicros: number }
  /** Every recipient was skipped: 200, nothing sent. */
  | { outcome: 'nothing'; billing: Billing }
  /** No active rate applies to these numbers: 422, nothing sent. */
  | { outcome: 'unrated'; numbers: string[] };

export interface Order {
  recipients: Recipients;
  /** The body, exactly as it will be sent. */
  text: string;
  attachmentCount: number;
  rates: readonly Rate[];
}

/**
 * Prices one send (2.3, 2.4). One reached recipient without attachments is an sms, charged by the segment; anything
 * else is an mms, charged once at the highest rate among those reached. Who was skipped needs no rate.
 *
 * Assumption: when all were skipped, `type` is what the send would have been with everyone reached.
 */
export function priceOf({ recipients: { reached, skipped }, text, attachmentCount, rates }: Order): Bill {
  const count = reached.length > 0 ? reached.length : countDistinct(skipped.map(({ to }) => to));
  const type = count === 1 && attachmentCount === 0 ? 'sms' : 'mms';
  const billingOf = (units: number, totalPrice: number): Billing => ({
    billed: true,
    currency: 'USD',
    type,
    units,
    totalPrice,
    recipientCount: reached.length,
    skippedCount: skipped.length,
  });
  if (reached.length === 0) return { outcome: 'nothing', billing: billingOf(0, 0) };

  const numbers = reached.filter((number) => rateFor(rates, number) === undefined);
  if (numbers.length > 0) return { outcome: 'unrated', numbers };

  const field = type === 'sms' ? 'smsMicros' : 'mmsMicros';
  const unitMicros = Math.max(...reached.map((number) => rateFor(rates, number)?.[field] ?? 0));
  const units = type === 'sms' ? countSegments(text).segments : 1;
  // Multiplied while still whole: 0.1 × 3 in dollars would be 0.30000000000000004.
  const totalMicros = unitMicros * units;
  const price = dollars(totalMicros);
  return { outcome: 'charged', billing: billingOf(units, price), unitPrice: dollars(unitMicros), price, totalMicros };
}
