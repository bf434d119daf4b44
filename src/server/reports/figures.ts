import { type Database, query, sql } from '../../db/database.ts';
import { csvOfLines } from '../row-list.ts';
import type { Chart, Column, Figures } from './charts.ts';
import { addDays, type Choice, daysBetween } from './choice.ts';
import { type Condition, followed, ofDays, type RowSet, type RowTable, rowsFrom } from './rows.ts';

/** A column of a picture and where its values come from: rows, totals of these rows, or other columns. */
export interface Measure extends Column {
  /** The rows that it counts, and that it opens unless `rows` says otherwise (empty: none). */
  readonly set?: RowSet;
  /** What it takes of these rows; default: how many they are. */
  readonly of?: Condition;
  /** The same of the totals of the table, which serve where all columns of the table have one. */
  readonly total?: Condition;
  /** Its value by those of other columns, of a day or of the whole period. */
  readonly derive?: (value: (key: string) => number) => number | null;
  /** It stands at the head of the page too, beside the period before: its name there, and whether more of it is good or bad. */
  readonly headline?: { readonly name?: string; readonly more?: 'good' | 'bad' };
}

/** What makes figures of days that are over rise: calls that are not proven complete, or missed calls that may still be returned. */
export type Rising = 'calls' | 'returns' | 'nothing';

/** Charts with a sentence: the only declaration of what is drawn, listed by day, compared and opened. */
export interface Picture {
  /** Its name in the URL: `/reports/volume.csv`. */
  readonly name: string;
  readonly title: string;
  /** The sentence to print when there is nothing to draw. */
  readonly emptiness: string;
  readonly rising: Rising;
  readonly measures: readonly Measure[] | ((db: Database, choice: Choice) => Promise<readonly Measure[]>);
  /** Without keys: a chart of all columns that have a tone. */
  readonly charts: readonly (Omit<Chart, 'keys'> & Partial<Pick<Chart, 'keys'>>)[];
  /** One sentence with the figures of the whole period; for it and the note some value is neither null nor 0. */
  sentence(figures: Figures): string;
  /** What a reader has to know about the figures. */
  note(figures: Figures): string;
}

/** A figure of the whole period, to stand beside that of the period before. */
export interface Headline extends Omit<Column, 'key'> {
  readonly value: number | null;
  readonly rows: string;
  readonly more?: 'good' | 'bad' | undefined;
}

/** Whether there is nothing to draw: every value is null or 0. */
export function isEmpty({ days }: Figures): boolean {
  return days.every(({ values }) => values.every((value) => value === null || value === 0));
}

/** The value of the whole period; 0 for null. */
export function wholeOf({ whole }: Figures, key: string): number {
  return whole[key] ?? 0;
}

type Values = Readonly<Record<string, number | null>>;
const wholePeriod = '';

/** Reads the values of every local day of a choice, and of all of it. */
export async function readFigures(db: Database, choice: Choice, measures: readonly Measure[]): Promise<Figures> {
  const found = new Map<string, Values>();
  const byTable = Map.groupBy(
    measures.filter(({ set }) => set !== undefined),
    ({ set }) => set?.table,
  );
  for (const [table, of] of byTable) {
    if (!table) continue;
    for (const { day, ...values } of await readTable(db, choice, table, of)) {
      const numbers = Object.entries(values).map(([key, value]) => [key, value === null ? null : Number(value)]);
      const date = day ?? wholePeriod;
      found.set(date, { ...found.get(date), ...Object.fromEntries(numbers) });
    }
  }
  const valuesAt = (date: string) => complete(measures, found.get(date) ?? {});
  const dates = Array.from({ length: daysBetween(choice.from, choice.to) }, (_, at) => addDays(choice.from, at));
  return {
    columns: measures.map(columnOf),
    days: dates.map((date) => ({ date, values: valuesAt(date) })),
    whole: Object.fromEntries(valuesAt(wholePeriod).map((value, at) => [measures[at]?.key, value])),
  };
}

/** What the page, the browser and the CSV know of a measure. */
function columnOf({ set, of, total, derive, headline, rows, ...column }: Measure): Column {
  const opened = rows ?? (set && `set=${column.key}`);
  return { ...column, ...(opened && { rows: opened }) };
}

/** A row by local day and one, of day null, of all days. */
function readTable(db: Database, choice: Choice, table: RowTable, measures: readonly Measure[]) {
  const own = followed(table, choice);
  const totals = measures.every(({ total }) => total) ? table.totals?.(own.filters) : undefined;
  const counted = ({ of = sql`count(*)`, set }: Measure) => sql`${of} filter (where ${set?.where ?? sql`true`})`;
  const columns = measures.map((each) => sql`${totals ? each.total : counted(each)} as ${sql.ref(each.key)}`);
  const day = totals ? sql`r.local_date` : (table.day ?? sql`r.local_date`);
  return query<Readonly<Record<string, string | number | null>> & { readonly day: string | null }>(
    db,
    sql`select (${day})::text as day, ${sql.join(columns)} ${totals ? sql`from ${totals} and ${ofDays(own)}` : rowsFrom(table, own)}
      group by grouping sets ((1), ())`,
  );
}

/** What nothing was found of is 0 where it is a count, and derived where it depends on others. */
function complete(measures: readonly Measure[], found: Values): (number | null)[] {
  const value = (key: string) => found[key] ?? 0;
  return measures.map(({ key, unit, derive }) => {
    if (derive) return derive(value);
    return found[key] ?? (unit === 'count' || unit === 'dollars' ? 0 : null);
  });
}

/** The charts of a picture; of all columns with a tone where it does not say of which. */
export function chartsOf({ charts }: Picture, { columns }: Figures): Chart[] {
  const all = columns.flatMap(({ key, tone }) => (tone === undefined ? [] : [key]));
  return charts.map((chart) => ({ ...chart, keys: chart.keys ?? all }));
}

/** The figures that stand at the head of the page. */
export function headlinesOf(measures: readonly Measure[], { whole }: Figures): Headline[] {
  return measures.flatMap(({ key, name, headline, unit, isFinal = false, rows = `set=${key}` }) =>
    headline ? [{ name, ...headline, unit, isFinal, rows, value: whole[key] ?? null }] : [],
  );
}

/** The figures as CSV: a line for each local day. An empty field means "nothing to measure", which is not zero. */
export function csvOf({ columns, days }: Figures): string {
  return csvOfLines([
    ['local_date', ...columns.map(({ key }) => key)],
    ...days.map(({ date, values }) => [date, ...values.map((value) => (value === null ? null : String(value)))]),
  ]);
}
