import { type Database, query } from '../../warehouse/database.ts';

/** What can be said of a day's calls. */
export interface DayOfCoverage {
  /** UTC, such as 2026-11-01. */
  readonly date: string;
  /** Hours of the day that are over. */
  readonly hours: number;
  readonly provenHours: number;
  /** Undefined when the service was never asked. */
  readonly reported: number | undefined;
  readonly held: number | undefined;
  readonly unannounced: number | undefined;
  readonly isComplete: boolean;
  readonly difference: string | undefined;
}

/** Every day of a range, those that were never compared included: a gap is shown, never hidden. */
export async function daysOfCoverage(db: Database, from: Date, to: Date): Promise<DayOfCoverage[]> {
  const rows = await query<{
    date: string;
    hours: number;
    proven: number | null;
    reported: number | null;
    held: number | null;
    unannounced: number | null;
    is_complete: boolean | null;
    difference: string | null;
  }>(
    db,
    `select to_char(day, 'YYYY-MM-DD') as date,
       least(24, floor(extract(epoch from (now() at time zone 'UTC') - day) / 3600))::integer as hours,
       c.proven_hour_count as proven, c.reported_count as reported, c.held_count as held,
       c.unannounced_count as unannounced, c.is_complete, c.difference
     from generate_series(date_trunc('day', $1::timestamptz at time zone 'UTC'),
       least($2::timestamptz, now()) at time zone 'UTC' - interval '1 microsecond', interval '1 day') day
     left join reporting.completeness c on c.stream = 'calls' and c.utc_date = day::date
     order by day`,
    [from.toISOString(), to.toISOString()],
  );
  return rows.map((row) => ({
    date: row.date,
    hours: row.hours,
    provenHours: row.proven ?? 0,
    reported: row.reported ?? undefined,
    held: row.held ?? undefined,
    unannounced: row.unannounced ?? undefined,
    isComplete: row.is_complete ?? row.hours === 0,
    difference: row.difference ?? undefined,
  }));
}
