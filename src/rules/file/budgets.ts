import { z } from 'zod';
import { type AccountLimits, ceilings, defaultAccountLimits as usual } from '../../ledger/limits.ts';

const microsPerDollar = 1_000_000;

const count = (most: number) =>
  z
    .int()
    .min(0, { error: 'This is below nothing.\nWrite 0 to let none out, or more.' })
    .max(most, { error: `This is more than a day may hold.\nWrite ${most} or less: no budget is without a limit.` });
const dollars = (most: number) =>
  z
    .number()
    .min(0, { error: 'This is below nothing.\nWrite 0 to let none out, or more.' })
    .max(most, { error: `This is more than anybody meant.\nWrite ${most} or less: no budget is without a limit.` });

/** What automatic texts may use up in a day, as it is written. */
export const budgets = z
  .strictObject({
    daily_dollars: dollars(ceilings.dailyMicros / microsPerDollar).describe(
      `What replies may cost a day, in US dollars. Default: ${usual.dailyMicros / microsPerDollar}.`,
    ),
    per_thread: count(ceilings.perThread).describe(`Replies into one thread a day. Default: ${usual.perThread}.`),
    per_line: count(ceilings.perLine).describe(`Replies from one line a day. Default: ${usual.perLine}.`),
    per_account: count(ceilings.perAccount).describe(`Replies a day. Default: ${usual.perAccount}.`),
    segment_dollars: dollars(ceilings.unitMicros / microsPerDollar).describe(
      `What a segment costs at least; the service's own prices can only raise it. Default: ${usual.unitMicros / microsPerDollar}.`,
    ),
  })
  .partial();

/** YAML reads an unquoted +44 as a number. */
export const countries = z
  .array(
    z.union([z.string(), z.number()]).refine((given) => /^\+?(?:[2-9]\d{0,2}|1(?:\d{3})?)$/.test(String(given)), {
      error:
        'This is no calling code.\nWrite the digits that the country\u2019s numbers begin with, such as "+1" or "+44"; "+1876" for a country with an area code of +1.',
    }),
  )
  .min(1, {
    error: 'The list is empty.\nName a country, or remove the key to allow those of the account\u2019s own lines.',
  });

/** The same as the ledger takes it; what is not written is left to its defaults. */
export function accountLimitsOf(
  written: z.output<typeof budgets> = {},
  allowed?: z.output<typeof countries>,
): Partial<AccountLimits> {
  const limits = {
    perThread: written.per_thread,
    perLine: written.per_line,
    perAccount: written.per_account,
    dailyMicros: microsOf(written.daily_dollars),
    unitMicros: microsOf(written.segment_dollars),
    countries: allowed?.map((code) => String(code).replace('+', '')),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

function microsOf(dollars: number | undefined): number | undefined {
  return dollars === undefined ? undefined : Math.round(dollars * microsPerDollar);
}
