import { type Database, query, sql } from '../../db/database.ts';
import { csvOfLines } from '../row-list.ts';
import type { Chart, Column, Figures } from './charts.ts';
import { addDays, type Choice, daysBetween } from './choice.ts';
import { type Condition, followed, ofDays, type RowSet, type RowTable, rowsFrom } from './rows.ts';

/** A column of a picture, and the source of its values: rows, totals of these rows, or other columns. */
export interface Measure extends Column {
  /** The rows that it counts, and links to unless `rows` says otherwise (empty: none). */
  readonly set?: RowSet;
  /** The aggregate of these rows. Default: their number. */
  readonly of?: Condition;
  /** The same from the table's totals. Only used if all columns of the table have one. */
  readonly total?: Condition;
  /** Computed from other columns, for a day or the whole period. */
  readonly derive?: (value: (key: string) => number) => number | null;
  /** Also shown as a headline next to the previous period: its name there, and whether higher is good or bad. */
  readonly headline?: { readonly name?: string; readonly more?: 'good' | 'bad' };
}

/**
 * Why figures of past days can still rise: their calls aren't proven complete, or missed calls may still be returned.
 */
export type Rising = 'calls' | 'returns' | 'nothing';

/** Charts with a sentence. The only declaration of what is drawn, listed by day, compared and linked. */
export interface Picture {
  /** Its name in the URL: `/reports/volume.csv`. */
  readonly name: string;
  readonly title: string;
  /** The sentence to show if there is nothing to draw. */
  readonly emptiness: string;
  readonly rising: Rising;
  readonly measures: readonly Measure[] | ((db: Database, choice: Choice) => Promise<readonly Measure[]>);
  /** Without keys: one chart of all columns with a tone. */
  readonly charts: readonly (Omit<Chart, 'keys'> & Partial<Pick<Chart, 'keys'>>)[];
  /**
   * One sentence with the figures of the whole period. Only used if some value is neither null nor 0, like the note.
   */
  sentence(figures: Figures): string;
  /** What a reader has to know about the figures. */
  note(figures: Figures): string;
}

/** A figure of the whole period, shown next to the previous period's. */
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

/** Reads the values of every local day of a choice, and of the whole choice. */
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

/** What the page, the browser and the CSV know about a measure. */
function columnOf({ set, of, total, derive, headline, rows, ...column }: Measure): Column {
  const opened = rows ?? (set && `set=${column.key}`);
  return { ...column, ...(opened && { rows: opened }) };
}

/** One row per local day, and one with a null day for the whole period. */
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

/** A count without rows is 0. Derived values depend on the others. */
function complete(measures: readonly Measure[], found: Values): (number | null)[] {
  const value = (key: string) => found[key] ?? 0;
  return measures.map(({ key, unit, derive }) => {
    if (derive) return derive(value);
    return found[key] ?? (unit === 'count' || unit === 'dollars' ? 0 : null);
  });
}

/** The charts of a picture. Default: one of all columns with a tone. */
export function chartsOf({ charts }: Picture, { columns }: Figures): Chart[] {
  const all = columns.flatMap(({ key, tone }) => (tone === undefined ? [] : [key]));
  return charts.map((chart) => ({ ...chart, keys: chart.keys ?? all }));
}

/** The headline figures of the page. */
export function headlinesOf(measures: readonly Measure[], { whole }: Figures): Headline[] {
  return measures.flatMap(({ key, name, headline, unit, isFinal = false, rows = `set=${key}` }) =>
    headline ? [{ name, ...headline, unit, isFinal, rows, value: whole[key] ?? null }] : [],
  );
}

/** The figures as CSV, one line for each local day. An empty field means "nothing to measure", which isn't zero. */
export function csvOf({ columns, days }: Figures): string {
  return csvOfLines([
    ['local_date', ...columns.map(({ key }) => key)],
    ...days.map(({ date, values }) => [date, ...values.map((value) => (value === null ? null : String(value)))]),
  ]);
}
