import type { RawBuilder } from 'kysely';
import { type Database, query, relation, sql } from '../../db/database.ts';
import { toType } from '../../shared/command-name.ts';

/* warehouse.sms_unread_snapshots has a row for each change in how a line's unread count compares with the mirror. */

/** The unread count of a line, compared with the mirror. */
export interface LineUnread {
  readonly line: string;
  /** What the service counts. */
  readonly reported: number;
  readonly held: number;
  readonly state: 'even' | 'behind' | 'unexplained' | 'older' | 'ahead';
}

/** How many unread texts of a line aren't held; negative when more are held than the service counts. */
export function missingOf({ reported, held }: Pick<LineUnread, 'reported' | 'held'>): number {
  return reported - held;
}

/** Whether texts of a line that an expression names are missing, by its last comparison. */
export const isMissingTexts = (line: RawBuilder<unknown>) => sql`coalesce((
  select state in ('behind', 'unexplained') from warehouse.sms_unread_snapshots
  where line = ${line} order by observed_at desc limit 1), false)`;

/** The results of earlier comparisons of a line with missing texts. */
export interface LineHistory {
  /** Since when texts have been missing while a search goes on; undefined if none are. */
  readonly behindSince: Date | undefined;
  /** How many texts were given up. */
  readonly givenUp: number;
  /** All of the texts given up arrived before the mirror was created. */
  readonly isOlder: boolean;
}

const missing = sql`case when state in ('behind', 'unexplained', 'older') then reported_count - held_count else 0 end`;

export async function historyOf(db: Database, line: string): Promise<LineHistory> {
  const [row] = await query(
    db,
    sql<{ behind_since: Date | null; given_up: number; is_older: boolean }>`with settled as (
       select observed_at, ${missing} as given_up, state = 'older' as is_older
       from warehouse.sms_unread_snapshots where line = ${line} and state <> 'behind' order by observed_at desc limit 1
     )
     select coalesce((select given_up from settled), 0) as given_up,
       coalesce((select is_older from settled), false) as is_older, min(observed_at) as behind_since
     from warehouse.sms_unread_snapshots
     where line = ${line} and state = 'behind' and observed_at > coalesce((select observed_at from settled), '-infinity')`,
  );
  return { behindSince: row?.behind_since ?? undefined, givenUp: row?.given_up ?? 0, isOlder: row?.is_older ?? false };
}

/** When the unread count of a line was last seen to rise within an hour: its newest text had arrived by then. */
export async function risenAt(db: Database, line: string): Promise<Date | undefined> {
  const [row] = await query(
    db,
    sql<{ at: Date | null }>`select max(observed_at) as at from (
       select observed_at, reported_count > lag(reported_count) over (order by observed_at) as has_risen
       from warehouse.sms_unread_snapshots where line = ${line} and observed_at > now() - interval '1 hour'
     ) s where has_risen`,
  );
  return row?.at ?? undefined;
}

/** Stores the results of a comparison that started `at`. If nothing changed, only `unchanged_until` moves. */
export async function storeSnapshots(db: Database, lines: readonly LineUnread[], at: Date): Promise<void> {
  await query(
    db,
    sql`
      with seen as (
        select * from ${relation('s', lines, {
          line: 'text',
          reported_count: ['integer', ({ reported }) => reported],
          held_count: ['integer', ({ held }) => held],
          state: 'text',
        })}
      ), known as (
        select s.line, u.observed_at from seen s, lateral (
          select * from warehouse.sms_unread_snapshots where line = s.line order by observed_at desc limit 1) u
        where (u.reported_count, u.held_count, u.state) = (s.reported_count, s.held_count, s.state)
      ), again as (
        update warehouse.sms_unread_snapshots u set unchanged_until = ${at} from known k
        where u.line = k.line and u.observed_at = k.observed_at
      )
      insert into warehouse.sms_unread_snapshots (line, observed_at, unchanged_until, reported_count, held_count, state)
      select s.line, now(), ${at}::timestamptz, s.reported_count, s.held_count, s.state from seen s
      where not exists (select from known k where k.line = s.line)`,
  );
}

/** Unread texts that the service counts on a line and that aren't held, by the line's last comparison. */
export interface MissingTexts {
  readonly line: string;
  readonly missing: number;
  /** Since when any have been missing. */
  readonly since: Date;
  /** `behind`: being searched for; `unexplained`: not found; `older`: from before the mirror was created. */
  readonly state: 'behind' | 'unexplained' | 'older';
  /** Whether a back-fill of threads has ended, and didn't find them either. */
  readonly wasSearched: boolean;
}

export function missingTexts(db: Database): Promise<MissingTexts[]> {
  return query<MissingTexts>(
    db,
    `select line, reported_count - held_count as missing, state,
       exists (select from ops.backfills where stream = 'threads' and finished_at is not null) as "wasSearched", (
         select min(observed_at) from warehouse.sms_unread_snapshots u
         where u.line = newest.line and u.observed_at > coalesce((
           select max(observed_at) from warehouse.sms_unread_snapshots e
           where e.line = newest.line and e.state in ('even', 'ahead')), '-infinity')
       ) as since
     from (
       select distinct on (line) * from warehouse.sms_unread_snapshots order by line, observed_at desc
     ) newest where state in ('behind', 'unexplained', 'older') order by line`,
    [],
  );
}

/** The state of a line's unread counts, in words. */
export function missingTextWords({ state, wasSearched }: Pick<MissingTexts, 'state' | 'wasSearched'>): string {
  switch (state) {
    case 'behind':
      return 'being searched for';
    case 'unexplained':
      return 'not found: a possible gap';
    case 'older':
      return wasSearched
        ? `older than this mirror, and no caller or contact wrote them: ${toType('backfill threads --numbers FILE')} searches further numbers`
        : `older than this mirror: ${toType('backfill threads')} may find them`;
  }
}
