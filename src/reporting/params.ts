import { type Database, query } from '../warehouse/database.ts';

/** Definitions of `reporting.params` that the rollups are made with. */
export interface RollupParams {
  /** An IANA zone. */
  readonly timeZone?: string | undefined;
  readonly shortAbandonSeconds?: number | undefined;
}

/** Changes definitions; those left out stay. The rollups follow with {@link rebuildRollups}. */
export async function changeParams(db: Database, { timeZone, shortAbandonSeconds }: RollupParams): Promise<void> {
  await query(
    db,
    `update reporting.params set time_zone = coalesce($1, time_zone), short_abandon_seconds = coalesce($2::integer, short_abandon_seconds)
     where num_nonnulls($1::text, $2::integer) > 0`,
    [timeZone, shortAbandonSeconds],
  );
}
