import { type Database, query } from '../warehouse/database.ts';
import { isNumberAlone, longestNumber, numberMeant, shortestNumber } from '../warehouse/erasure/mentions.ts';

/** The number cannot be erased; the message says why, and what to do. */
export class NotErasable extends Error {
  override readonly name = 'NotErasable';
  readonly code = 'not_erasable';
}

/** The number as it is compared everywhere, in any format that people write. Throws `NotErasable`. */
export function erasableNumber(text: string): string {
  const number = isNumberAlone(text) ? numberMeant(text) : '';
  if (number === undefined) {
    throw new NotErasable(
      'A number that begins with 0 does not say its country: write it with its country code, such as "+44 20 7946 0958".',
    );
  }
  if (number.length < shortestNumber || number.length > longestNumber) {
    throw new NotErasable(
      `A phone number has ${shortestNumber} to ${longestNumber} digits: write it with its country code, such as "+1 845 555 0123".`,
    );
  }
  return number;
}

/** Throws `NotErasable` for a number of the account itself: it stands in every row, and names no customer. */
export async function refuseOwnNumber(db: Database, number: string): Promise<void> {
  const [own] = await query<{ owner: string }>(
    db,
    `select 'an SMS line' as owner from warehouse.sms_lines where line = $1
     union all select 'a user' from warehouse.user_endpoints where kind = 'number' and endpoint = $1 limit 1`,
    [number],
  );
  if (own) throw new NotErasable(`That is a number of the account itself (${own.owner}'s), not of a person to erase.`);
}
