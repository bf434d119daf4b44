import type { Rate } from '../account.ts';
import { normalizeNumber } from '../phone-number.ts';

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const punctuation = '@£$¥_!"#¤%&\'()*+,-./:;<=>?¡§¿ \n\r';
const accented = 'èéùìòàÇØøÅåÆæßÉÄÖÑÜäöñü';
const greek = 'ΔΦΓΛΩΠΨΣΘΞ';

/** Not in the real alphabet; section 2.4 counts every e a i o u with grave or acute as GSM-7. */
const accentedBySpecification = 'áíóú';

const basic = new Set(letters + digits + punctuation + accented + greek + accentedBySpecification);

/** The nine of section 2.4, and the form feed of the real extension table. */
const extension = new Set('[]{}\\^~|€\f');

/**
 * The units of a character in the GSM-7 alphabet (2.4): 1, or 2 for an extension character; undefined outside of it.
 * Composed letters only: a combining accent is outside.
 */
export function gsm7Cost(character: string): 1 | 2 | undefined {
  if (basic.has(character)) return 1;
  return extension.has(character) ? 2 : undefined;
}

interface SegmentCount {
  encoding: 'gsm7' | 'ucs2';
  /** GSM-7 characters, extension characters counted twice, or UTF-16 code units. */
  units: number;
  /** The charged units of an sms: `billing.units` in the answer to a send. */
  segments: number;
}

/** Units in a message of one segment, and in each segment of a longer one. */
const budgets = {
  gsm7: { single: 160, split: 153 },
  ucs2: { single: 70, split: 67 },
} as const;

/**
 * Counts the segments of an sms (2.4), 0 for empty text. One character outside GSM-7 switches the whole text to UCS-2,
 * where a character costs its UTF-16 code units: an emoji 2, `€` and `[` only 1. The text isn't trimmed or normalized.
 */
export function countSegments(text: string): SegmentCount {
  const characters = [...text];
  const septets = characters.map(gsm7Cost).filter((cost) => cost !== undefined);
  const isGsm7 = septets.length === characters.length;
  const costs = isGsm7 ? septets : characters.map((character) => character.length);
  const encoding = isGsm7 ? 'gsm7' : 'ucs2';
  const units = costs.reduce((sum, cost) => sum + cost, 0);
  const { single, split } = budgets[encoding];
  if (units <= single) return { encoding, units, segments: units === 0 ? 0 : 1 };
  return { encoding, units, segments: Math.ceil(units / split) };
}

/** Section 2.3. */
interface Billing {
  /** Describes the endpoint, not the request. */
  billed: true;
  currency: 'USD';
  type: 'sms' | 'mms';
  /** Segments for sms, 1 for mms; 0 when all recipients were skipped. */
  units: number;
  /** Dollars; 0 when nothing was sent. */
  totalPrice: number;
  /** Recipients reached; it doesn't multiply the price. */
  recipientCount: number;
  skippedCount: number;
}

export interface Skipped {
  /** As supplied. */
  to: string;
  reason: 'opted_out' | 'duplicate' | 'invalid';
}

export interface Recipients {
  /** Normalized and distinct, in the order supplied. */
  reached: string[];
  /** In the order supplied (2.3). */
  skipped: Skipped[];
}

/**
 * Splits `to` into reached and skipped recipients (2.3, 2.4). An opted-out number is `opted_out` at each occurrence;
 * any other is reached once and then a `duplicate`. Text that isn't a phone number is `invalid`, not an error.
 * `isOptedOut` gets the normalized number: whether it replied STOP to the sending line.
 */
export function selectRecipients(to: readonly string[], isOptedOut: (number: string) => boolean): Recipients {
  const reached = new Set<string>();
  const skipped: Skipped[] = [];
  for (const supplied of to) {
    const number = normalizeNumber(supplied);
    if (number === null || !isDialable(number)) skipped.push({ to: supplied, reason: 'invalid' });
    else if (isOptedOut(number)) skipped.push({ to: supplied, reason: 'opted_out' });
    else if (reached.has(number)) skipped.push({ to: supplied, reason: 'duplicate' });
    else reached.add(number);
  }
  return { reached: [...reached], skipped };
}

/** E.164: at least eight digits, no leading 0. North American area codes begin with 2 to 9; seven digits follow. */
function isDialable(number: string): boolean {
  return number.startsWith('1') ? /^1[2-9]\d{9}$/.test(number) : /^[2-9]\d{7,14}$/.test(number);
}

/** The number of distinct recipients (2.2). A text that doesn't normalize counts as supplied. */
export function countDistinct(to: readonly string[]): number {
  return new Set(to.map((supplied) => normalizeNumber(supplied) ?? supplied)).size;
}

/** The rate with the longest matching prefix; undefined when there is none, which is a 422 (section 7). */
export function rateFor(rates: readonly Rate[], number: string): Rate | undefined {
  let best: Rate | undefined;
  for (const rate of rates) {
    if (number.startsWith(rate.prefix) && rate.prefix.length >= (best?.prefix.length ?? 0)) best = rate;
  }
  return best;
}

/** Micro-dollars as dollars: the nearest double, whose JSON is the exact decimal (30000 → 0.03). */
export function dollars(micros: number): number {
  return micros / 1_000_000;
}

export type Bill =
  /** Sent and charged: 201. The unit price in dollars, the total also in micro-dollars. */
  | { outcome: 'charged'; billing: Billing; unitPrice: number; totalMicros: number }
  /** Every recipient was skipped: 200, nothing sent. */
  | { outcome: 'nothing'; billing: Billing }
  /** These numbers have no rate: 422, nothing sent. */
  | { outcome: 'unrated'; numbers: string[] };

export interface PricedSend {
  recipients: Recipients;
  /** The body as sent. */
  text: string;
  attachmentCount: number;
  rates: readonly Rate[];
}

/**
 * Prices one send (2.3, 2.4). One reached recipient without attachments is an sms, charged per segment; anything else
 * is an mms, charged once at the highest rate of the reached recipients. Skipped recipients need no rate. Assumed: when
 * all are skipped, `type` is that of the send with all of them reached.
 */
export function priceSend({ recipients: { reached, skipped }, text, attachmentCount, rates }: PricedSend): Bill {
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
  // In integers: 0.1 × 3 in dollars would be 0.30000000000000004.
  const totalMicros = unitMicros * units;
  const billing = billingOf(units, dollars(totalMicros));
  return { outcome: 'charged', billing, unitPrice: dollars(unitMicros), totalMicros };
}
