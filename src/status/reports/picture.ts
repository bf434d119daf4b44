import type { Database } from '../../warehouse/database.ts';

/** The lengths of time that a report can show, in local days up to today. */
export const periods = [7, 30, 90] as const;
export type Period = (typeof periods)[number];

/** How the values of a column are told. */
export type Unit = 'count' | 'percent' | 'seconds' | 'dollars';

export interface Column {
  /** Its name in the CSV. */
  readonly key: string;
  readonly name: string;
  readonly unit: Unit;
}

/** One local day: what stands in each column; null = nothing to tell, which is not zero. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly values: readonly (number | null)[];
}

/** What a picture is drawn from, and what its CSV holds; every day of the period once, oldest first. */
export interface Figures {
  readonly columns: readonly Column[];
  readonly days: readonly Day[];
}

/** How a colour is meant: good, neither, bad, and two that only differ. */
export type Tone = 'main' | 'second' | 'good' | 'fair' | 'plain' | 'bad' | 'worse';

export interface Series {
  /** The key of its column. */
  readonly key: string;
  readonly tone: Tone;
}

/** One chart: columns on top of each other, or lines; `span` fills the room between its two lines. */
export type Chart = {
  readonly title?: string;
  readonly series: readonly Series[];
} & (
  | { readonly kind: 'stack'; readonly isShare?: boolean }
  | { readonly kind: 'lines' }
  | { readonly kind: 'span'; readonly dashed?: Series }
);

/** What a picture shows of some figures. */
export interface View {
  /** The picture in one sentence with the figures of the whole period. */
  readonly sentence: string;
  readonly charts: readonly Chart[];
  /** What one must know to read it right. */
  readonly note?: string;
}

export interface Picture {
  /** Its part of the address: `/reports/volume.csv`. */
  readonly name: string;
  readonly title: string;
  /** What stands in its place when there is nothing to draw. */
  readonly emptiness: string;
  read(db: Database, period: Period): Promise<Figures>;
  /** Called only when some value is neither null nor 0. */
  show(figures: Figures): View;
}

/** Whether there is anything to draw. */
export function isEmpty({ days }: Figures): boolean {
  return days.every(({ values }) => values.every((value) => value === null || value === 0));
}

/** The values of one column, oldest day first. Throws for a column that is not there. */
export function valuesOf({ columns, days }: Figures, key: string): (number | null)[] {
  const at = columns.findIndex((column) => column.key === key);
  if (at < 0) throw new Error(`There is no column ${key}`);
  return days.map(({ values }) => values[at] ?? null);
}

export function sumOf(figures: Figures, key: string): number {
  return valuesOf(figures, key).reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
