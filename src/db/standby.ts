import { UserError } from '../shared/errors.ts';
import { type Database, query, sql } from './database.ts';

/** A hot standby that pages read from. */
export interface StandbyStatus {
  /** False for a primary: REPORTING_DATABASE_URL may name one. */
  readonly isStandby: boolean;
  /** Age of the newest commit that it has. Trunkline commits every few seconds. Null for a primary, and before the first. */
  readonly lagSeconds: number | null;
}

export async function readStandby(db: Database): Promise<StandbyStatus> {
  const [status] = await query(
    db,
    sql<StandbyStatus>`select pg_is_in_recovery() as "isStandby", case when pg_is_in_recovery()
       then greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8 end as "lagSeconds"`,
  );
  return status ?? { isStandby: false, lagSeconds: null };
}

/** REPORTING_DATABASE_URL names a database that is no copy of that of DATABASE_URL: its pages would show another account. */
export class OtherDatabase extends UserError {
  readonly code = 'other_database';

  constructor() {
    super('it is no copy of the database of DATABASE_URL');
  }
}

/** Rejects with {@link OtherDatabase} if a database is neither the primary nor a streaming copy of it. */
export async function refuseOtherDatabase(primary: Database, standby: Database): Promise<void> {
  const identity = sql<{ id: string }>`select (select system_identifier from pg_control_system()) || '/' || oid as id
    from pg_database where datname = current_database()`;
  const [[own], [other]] = [await query(primary, identity), await query(standby, identity)];
  if (own?.id !== other?.id) throw new OtherDatabase();
}

/**
 * Whether a standby cancelled a statement, because it has to apply what the primary removed or locked. In our sessions, which are READ
 * COMMITTED, nothing else has this code.
 */
export function isRecoveryConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '40001';
}
