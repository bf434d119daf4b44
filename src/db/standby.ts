import { type Database, query, sql } from './database.ts';

/** A hot standby that pages read from. */
export interface StandbyStatus {
  /** False for a primary: REPORTING_DATABASE_URL may name one. */
  readonly isStandby: boolean;
  /** Age of the newest commit that it has. Trunkline commits every few seconds. Null for a primary, and before the first. */
  readonly lagSeconds: number | null;
}

/** Undefined if there is none. */
export async function readStandby(db: Database | undefined): Promise<StandbyStatus | undefined> {
  const [status] = db
    ? await query(
        db,
        sql<StandbyStatus>`select pg_is_in_recovery() as "isStandby", case when pg_is_in_recovery()
           then greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8 end as "lagSeconds"`,
      )
    : [];
  return status;
}

/**
 * Whether a standby cancelled a statement, because it has to apply what the primary removed or locked. In our sessions, which are READ
 * COMMITTED, nothing else has this code.
 */
export function isRecoveryConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '40001';
}
