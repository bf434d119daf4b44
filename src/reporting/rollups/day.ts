import { query, type Transaction } from '../../warehouse/database.ts';

/** A local day, by `reporting.params.time_zone`, and where it begins and ends. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly from: Date;
  readonly to: Date;
}

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
