import { type Database, query } from '../../warehouse/database.ts';
import type { UnreadKind } from './counted.ts';

/** How a line's unread texts compare. */
export interface LineUnread {
  readonly line: string;
  readonly reported: number;
  readonly held: number;
  /** Of the held ones, how many the service is known to leave out of its count. */
  readonly uncounted: number;
  readonly state: 'even' | 'behind' | 'unexplained' | 'older' | 'ahead';
  /** What the line was seen to count, where this look could tell. */
  readonly agreesWith: UnreadKind | undefined;
}

/** How many unread texts a line counts beyond those that are held and that it is known to count. */
export function missingOf({ reported, held, uncounted }: Omit<LastLook, 'at'>): number {
  return reported - held + uncounted;
}

/** The newest look at a line. */
export interface LastLook extends Pick<LineUnread, 'reported' | 'held' | 'uncounted'> {
  readonly at: Date;
}

/** The newest look at each line that was ever looked at. */
export async function lastLooks(db: Database, lines: readonly string[]): Promise<ReadonlyMap<string, LastLook>> {
  const rows = await query<LastLook & { line: string }>(
    db,
    `select l.line, u.reported_count as reported, u.held_count as held, u.uncounted_count as uncounted,
       coalesce(u.looked_until, u.observed_at) as at
     from unnest($1::text[]) as l (line), ${newestOf('l.line')} u`,
    [lines],
  );
  return new Map(rows.map(({ line, ...look }) => [line, look]));
}

function newestOf(line: string): string {
  return `lateral (select * from warehouse.sms_unread_snapshots where line = ${line} order by observed_at desc limit 1)`;
}

/** What earlier looks know of a line that counts more than is held. */
export interface LinePast {
  /** When it began to be behind, after it was last even, ahead or given up; undefined while it is not. */
  readonly behindSince: Date | undefined;
  /** How many texts were given up. */
  readonly givenUp: number;
  /** All of them came before the mirror was made. */
  readonly isOlder: boolean;
}

/** How many texts a look found missing. */
const missing = `case when state in ('behind', 'unexplained', 'older') then reported_count - held_count + uncounted_count else 0 end`;

export async function pastOf(db: Database, line: string): Promise<LinePast> {
  const [row] = await query<{ behind_since: Date | null; given_up: number; is_older: boolean }>(
    db,
    `with settled as (
       select observed_at, ${missing} as given_up, state = 'older' as is_older
       from warehouse.sms_unread_snapshots where line = $1 and state <> 'behind' order by observed_at desc limit 1
     )
     select coalesce((select given_up from settled), 0) as given_up,
       coalesce((select is_older from settled), false) as is_older, min(observed_at) as behind_since
     from warehouse.sms_unread_snapshots
     where line = $1 and state = 'behind' and observed_at > coalesce((select observed_at from settled), '-infinity')`,
    [line],
  );
  return { behindSince: row?.behind_since ?? undefined, givenUp: row?.given_up ?? 0, isOlder: row?.is_older ?? false };
}

/** When a line was given up that misses so many texts: all of them had come by then, whatever was on its way since. */
export async function givenUpAt(db: Database, line: string, texts: number): Promise<Date | undefined> {
  const [row] = await query<{ at: Date | null }>(
    db,
    `select min(observed_at) as at from warehouse.sms_unread_snapshots
     where line = $1 and state = 'unexplained' and observed_at > coalesce((
       select observed_at from warehouse.sms_unread_snapshots where line = $1 and ${missing} < $2
       order by observed_at desc limit 1), '-infinity')`,
    [line, texts],
  );
  return row?.at ?? undefined;
}

/** Keeps what a comparison that began `at` saw. One row says as much as many equal ones: only changes are kept. */
export async function keepLooks(db: Database, looks: readonly LineUnread[], at: Date): Promise<void> {
  const seen = `s.reported_count, s.held_count, s.uncounted_count, s.state, s.agrees_with`;
  await query(
    db,
    `with seen as (
       select * from unnest($1::text[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::text[])
         as s (line, reported_count, held_count, uncounted_count, state, agrees_with)
     ), known as (
       select s.line, u.observed_at from seen s, ${newestOf('s.line')} u
       where (u.reported_count, u.held_count, u.uncounted_count, u.state, u.agrees_with) is not distinct from (${seen})
     ), again as (
       update warehouse.sms_unread_snapshots u set looked_until = $7 from known k
       where u.line = k.line and u.observed_at = k.observed_at
     )
     insert into warehouse.sms_unread_snapshots
       (line, observed_at, looked_until, reported_count, held_count, uncounted_count, state, agrees_with)
     select s.line, now(), $7, ${seen} from seen s where not exists (select from known k where k.line = s.line)`,
    [
      looks.map(({ line }) => line),
      looks.map(({ reported }) => reported),
      looks.map(({ held }) => held),
      looks.map(({ uncounted }) => uncounted),
      looks.map(({ state }) => state),
      looks.map(({ agreesWith }) => agreesWith ?? null),
      at,
    ],
  );
}
