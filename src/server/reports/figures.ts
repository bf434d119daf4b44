import type { RawBuilder } from 'kysely';
import { type Database, query, sql } from '../../db/database.ts';
import { csvOfLines } from '../row-list.ts';
import { type Chart, type Column, type Figures, valuesOf } from './charts.ts';
import type { Choice } from './choice.ts';

/** Sentence and charts of a picture's figures. */
export interface View {
  /** One sentence with the figures of the whole period. */
  readonly sentence: string;
  readonly charts: readonly Chart[];
  /** What a reader has to know about the figures. */
  readonly note?: string;
}

/** A figure of the whole period, to stand beside that of the period before. */
export interface Headline extends Omit<Column, 'key'> {
  readonly value: number | null;
  readonly rows: string;
  /** Whether more of it is good or bad; undefined: neither. */
  readonly more?: 'good' | 'bad';
}

/** What makes figures of days that are over rise: calls that are not proven complete, or missed calls that may still be returned. */
export type Rising = 'calls' | 'returns' | 'nothing';

export interface Picture {
  /** Its name in the URL: `/reports/volume.csv`. */
  readonly name: string;
  readonly title: string;
  /** The sentence to print when there is nothing to draw. */
  readonly emptiness: string;
  readonly rising: Rising;
  read(db: Database, choice: Choice): Promise<Figures>;
  /** For the head of the page, where a picture has such. */
  headlines?(figures: Figures): readonly Headline[];
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

/** `local_date` is within the choice. */
export function ofDays({ from, to }: Choice): RawBuilder<unknown> {
  return sql`local_date between ${from}::date and ${to}::date`;
}

/**
 * Reads a row for every local day of the choice. `statement` selects `local_date` and the columns by their keys, and may omit
 * days. In it, `days (day)` is a relation of all days.
 */
export async function readDays(
  db: Database,
  { from, to }: Choice,
  columns: readonly Column[],
  statement: RawBuilder<unknown>,
): Promise<Figures> {
  const rows = await query<Record<string, string | number | null>>(
    db,
    sql`with days as (
        select day::date as day from generate_series(${from}::date::timestamp, ${to}::date::timestamp, interval '1 day') day
      )
      select d.day::text as day, shown.* from days d left join (${statement}) shown on shown.local_date = d.day order by d.day`,
  );
  const numberOf = (value: string | number | null | undefined) => (value == null ? null : Number(value));
  const days = rows.map((row) => ({ date: String(row.day), values: columns.map(({ key }) => numberOf(row[key])) }));
  return { columns, days };
}

/** The figures as CSV: a line for each local day. An empty field means "nothing to measure", which is not zero. */
export function csvOf({ columns, days }: Figures): string {
  return csvOfLines([
    ['local_date', ...columns.map(({ key }) => key)],
    ...days.map(({ date, values }) => [date, ...values.map((value) => (value === null ? null : String(value)))]),
  ]);
}
