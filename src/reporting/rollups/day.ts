import { query, type Transaction } from '../../warehouse/database.ts';

/** A local day, by `reporting.params.time_zone`, and where it begins and ends. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly from: Date;
  readonly to: Date;
}

export const quarterMs = 900_000;

/** The local days that moments lie in, oldest first. */
export async function daysOf(tx: Transaction, moments: readonly Date[]): Promise<Day[]> {
  if (moments.length === 0) return [];
  return query<Day>(
    tx,
    `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
     from (select distinct reporting.local_day(moment) as day from unnest($1::timestamptz[]) moment) days order by day`,
    [moments],
  );
}

/** The local days of these dates, oldest first. */
export async function daysNamed(tx: Transaction, dates: readonly string[]): Promise<Day[]> {
  if (dates.length === 0) return [];
  return query<Day>(
    tx,
    `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
     from (select distinct unnest($1::date[]) as day) days order by day`,
    [dates],
  );
}

/** Every quarter of an hour that a day has a part in. */
export function quartersOf({ from, to }: Day): Date[] {
  const quarters: Date[] = [];
  for (let at = quarterOf(from); at < Number(to); at += quarterMs) quarters.push(new Date(at));
  return quarters;
}

/** As `ops.quarter_of`, in Unix milliseconds. */
export function quarterOf(moment: Date): number {
  return Math.floor(Number(moment) / quarterMs) * quarterMs;
}
