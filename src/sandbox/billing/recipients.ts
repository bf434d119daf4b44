import { normalizeNumber } from '../phone-number.ts';

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
 * Sorts out who of `to` is sent to (2.3, 2.4). A number that opted out is named so as often as it was supplied; any
 * other is reached once, and named a duplicate after that. What is no phone number is `invalid`, never an error.
 *
 * @param isOptedOut asked with the normalized number: did it reply STOP to the sending line?
 */
export function sortRecipients(to: readonly string[], isOptedOut: (number: string) => boolean): Recipients {
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

/**
 * Whether a number is one of a country (E.164): none is shorter than eight digits, and no country code begins with 0. Area
 * codes in North America begin with 2 to 9, and seven more digits follow.
 */
function isDialable(number: string): boolean {
  return number.startsWith('1') ? /^1[2-9]\d{9}$/.test(number) : /^[2-9]\d{7,14}$/.test(number);
}

/** How many distinct recipients were asked for: 1 to 20 (2.2). What does not normalize counts as it was supplied. */
export function countDistinct(to: readonly string[]): number {
  return new Set(to.map((supplied) => normalizeNumber(supplied) ?? supplied)).size;
}
