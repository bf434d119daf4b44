import { type Database, query } from '../../warehouse/database.ts';
import type { Column, Figures, Period } from './picture.ts';

/** The local days of a period up to today; `$1` is their number. */
const days = `days as (
  select (reporting.local_day(now()) - back)::date as day from generate_series($1::integer - 1, 0, -1) back
)`;

/**
 * Reads a row for every local day of the period: `text` selects `local_date` and the columns by their keys, for the days
 * it has something of. In it, `$1` is the period, `$2` and on are the `parameters`, and `days (day)` are all days.
 */
export async function readDays(
  db: Database,
  period: Period,
  columns: readonly Column[],
  text: string,
  parameters: readonly unknown[] = [],
): Promise<Figures> {
  const rows = await query<Record<string, string | number | null>>(
    db,
    `with ${days} select d.day::text as day, shown.* from days d left join (${text}) shown on shown.local_date = d.day order by d.day`,
    [period, ...parameters],
  );
  return {
    columns,
    days: rows.map((row) => ({
      date: String(row.day),
      values: columns.map(({ key }) => numberOf(row[key])),
    })),
  };
}

function numberOf(value: string | number | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
