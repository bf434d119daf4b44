import { type Database, query } from '../../warehouse/database.ts';
import type { UnreadKind } from './counted.ts';

/** How a line's unread texts compare. */
export interface LineUnread {
  readonly line: string;
  readonly reported: number;
  readonly held: number;
  readonly state: 'even' | 'behind' | 'unexplained' | 'older' | 'ahead';
  /** What the line was seen to count, where this look could tell. */
  readonly agreesWith: UnreadKind | undefined;
}

/** What earlier looks know of a line that counts more than is held. */
export interface LinePast {
  /** Seconds since it began to be behind, after it was last even, ahead or given up. */
  readonly behindFor: number;
  /** How many texts were given up. */
  readonly givenUp: number;
}

export async function pastOf(db: Database, line: string): Promise<LinePast> {
  const [row] = await query<LinePast>(
    db,
    `with settled as (
       select observed_at, case when state in ('unexplained', 'older') then reported_count - held_count else 0 end as given_up
       from warehouse.sms_unread_snapshots where line = $1 and state <> 'behind' order by observed_at desc limit 1
     )
     select coalesce((select given_up from settled), 0) as "givenUp",
       coalesce(extract(epoch from now() - min(observed_at)), 0)::float8 as "behindFor"
     from warehouse.sms_unread_snapshots
     where line = $1 and state = 'behind' and observed_at > coalesce((select observed_at from settled), '-infinity')`,
    [line],
  );
  return row ?? { behindFor: 0, givenUp: 0 };
}

/** Keeps what a comparison saw. One row says as much as many equal ones: only changes are kept. */
export async function keepLooks(db: Database, looks: readonly LineUnread[]): Promise<void> {
  await query(
    db,
    `with seen as (
       select * from unnest($1::text[], $2::integer[], $3::integer[], $4::text[], $5::text[])
         as s (line, reported_count, held_count, state, agrees_with)
     ), last as (
       select distinct on (line) u.* from warehouse.sms_unread_snapshots u join seen using (line) order by line, observed_at desc
     )
     insert into warehouse.sms_unread_snapshots (line, observed_at, reported_count, held_count, state, agrees_with)
     select s.line, now(), s.reported_count, s.held_count, s.state, s.agrees_with from seen s left join last l using (line)
     where (l.reported_count, l.held_count, l.state, l.agrees_with)
       is distinct from (s.reported_count, s.held_count, s.state, s.agrees_with)`,
    [
      looks.map(({ line }) => line),
      looks.map(({ reported }) => reported),
      looks.map(({ held }) => held),
      looks.map(({ state }) => state),
      looks.map(({ agreesWith }) => agreesWith ?? null),
    ],
  );
}
