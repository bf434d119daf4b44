import { type Database, query } from '../../db/database.ts';
import { type MissingTexts, missingTexts } from '../gaps/unread-comparisons.ts';

/** A gap in the webhooks whose calls or texts are still being searched. */
export interface GapOfDay {
  readonly stream: 'calls' | 'texts';
  readonly from: Date;
  readonly to: Date;
}

/** A day of coverage: whether all of its calls are proven to be held, and which texts are missing. */
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
  /** Whether its calls are proven to be held. */
  readonly isComplete: boolean;
  readonly difference: string | undefined;
  /** Texts missing since that day; the first day of the range also lists earlier ones. */
  readonly missingTexts: readonly MissingTexts[];
  /** Gaps that begin on that day; the first day of the range also lists earlier ones. */
  readonly openGaps: readonly GapOfDay[];
}

/** Every day of a range, including days that were never compared. */
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
     left join reporting.completeness c on c.utc_date = day::date
     order by day`,
    [from.toISOString(), to.toISOString()],
  );
  const [missing, gaps] = await Promise.all([missingTexts(db), openGaps(db, from, to)]);
  const first = rows[0]?.date ?? '';
  const isOf = (date: string, moment: Date) => {
    const day = moment.toISOString().slice(0, 10);
    return day === date || (date === first && day < first);
  };
  return rows.map((row) => ({
    date: row.date,
    hours: row.hours,
    provenHours: row.proven ?? 0,
    reported: row.reported ?? undefined,
    held: row.held ?? undefined,
    unannounced: row.unannounced ?? undefined,
    isComplete: row.is_complete ?? row.hours === 0,
    difference: row.difference ?? undefined,
    missingTexts: missing.filter(({ since }) => isOf(row.date, since)),
    openGaps: gaps.filter((gap) => isOf(row.date, gap.from)),
  }));
}

function openGaps(db: Database, from: Date, to: Date): Promise<GapOfDay[]> {
  return query<GapOfDay>(
    db,
    `select stream, from_at as "from", to_at as "to" from ops.gaps
     where filled_at is null and from_at < $2 and to_at > $1 order by from_at, stream`,
    [from.toISOString(), to.toISOString()],
  );
}
