import { type Database, query } from '../../db/database.ts';
import { type Chart, type Column, type Figures, valuesOf } from './charts.ts';

/** The periods of a report, in local days up to today. */
export const periods = [7, 30, 90] as const;
export type Period = (typeof periods)[number];

/** Sentence and charts of a picture's figures. */
export interface View {
  /** One sentence with the figures of the whole period. */
  readonly sentence: string;
  readonly charts: readonly Chart[];
  /** What a reader has to know about the figures. */
  readonly note?: string;
}

export interface Picture {
  /** Its name in the URL: `/reports/volume.csv`. */
  readonly name: string;
  readonly title: string;
  /** The sentence to print when there is nothing to draw. */
  readonly emptiness: string;
  read(db: Database, period: Period): Promise<Figures>;
  /** Called only when some value is neither null nor 0. */
  show(figures: Figures): View;
}

/** Whether there is nothing to draw: every value is null or 0. */
export function isEmpty({ days }: Figures): boolean {
  return days.every(({ values }) => values.every((value) => value === null || value === 0));
}

export function sumOf(figures: Figures, key: string): number {
  return valuesOf(figures, key).reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** The local days of a period up to today; `$1` is their number. */
const days = `days as (
  select (reporting.local_day(now()) - back)::date as day from generate_series($1::integer - 1, 0, -1) back
)`;

/**
 * Reads a row for every local day of the period. `text` selects `local_date` and the columns by their keys, and may omit days.
 * In it, `$1` is the period, `$2` and later are the `parameters`, and `days (day)` is a relation of all days.
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

/**
 * The figures as CSV (RFC 4180): a header, then a line for each local day. An empty field means "nothing to measure", which is
 * not zero.
 */
export function csvOf({ columns, days }: Figures): string {
  const lines = [
    ['local_date', ...columns.map(({ key }) => key)],
    ...days.map(({ date, values }) => [date, ...values.map((value) => (value === null ? '' : String(value)))]),
  ];
  return lines.map((fields) => `${fields.join(',')}\r\n`).join('');
}
