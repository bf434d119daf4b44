import { type Database, inTransaction, query, type Transaction } from '../db/database.ts';
import { holdDrains } from './rollups.ts';

/** Definitions of `reporting.params` that the rollups are made with. */
export interface RollupParams {
  /** An IANA zone. */
  readonly timeZone?: string | undefined;
  readonly shortAbandonSeconds?: number | undefined;
}

/**
 * Changes definitions; those left out stay. A schedule in the zone of the reports goes with it. The rollups follow with
 * {@link rebuildRollups}.
 */
export async function changeParams(
  db: Database | Transaction,
  { timeZone, shortAbandonSeconds }: RollupParams,
): Promise<void> {
  await query(
    db,
    `with before as materialized (select time_zone from reporting.params),
     schedules as (
       update reporting.schedules s set time_zone = $1 from before where s.time_zone = before.time_zone and $1::text is not null
     )
     update reporting.params set time_zone = coalesce($1, time_zone), short_abandon_seconds = coalesce($2::integer, short_abandon_seconds)
     where num_nonnulls($1::text, $2::integer) > 0`,
    [timeZone, shortAbandonSeconds],
  );
}

/** The IANA zone of the days in the reports. */
export async function reportsTimeZone(db: Database | Transaction): Promise<string> {
  const [params] = await query<{ time_zone: string }>(db, 'select time_zone from reporting.params', []);
  if (!params) throw new Error('reporting.params has no row');
  return params.time_zone;
}

/**
 * Lets the days of the reports be those of TIME_ZONE as long as there are none to compute again, and notes what is wanted, for
 * `data_quality` and `status`. False when the reports are in another zone and stay so: at millions of calls, computing them
 * again is somebody's decision. Undefined: TIME_ZONE is not set, and any zone will do.
 */
export async function adoptTimeZone(db: Database, timeZone: string | undefined): Promise<boolean> {
  await query(db, 'update ops.rollup_state set wanted_time_zone = $1 where wanted_time_zone is distinct from $1', [
    timeZone ?? null,
  ]);
  if (timeZone === undefined || (await reportsTimeZone(db)) === timeZone) return true;
  if (!(await isWarehouseEmpty(db))) return false;
  return inTransaction(db, async (tx) => {
    // What arrives meanwhile is rolled up after this, in the zone that is then told of.
    await holdDrains(tx);
    if (!(await isWarehouseEmpty(tx))) return (await reportsTimeZone(tx)) === timeZone;
    await changeParams(tx, { timeZone });
    // Rollups of nothing are right in every zone: none of them waits for a rebuild.
    await query(tx, 'update ops.rollup_state set meaning = ops.rollup_meaning()', []);
    return true;
  });
}

/** The TIME_ZONE of the worker that started last; undefined when it was not set. */
export async function wantedTimeZone(db: Database): Promise<string | undefined> {
  const [state] = await query<{ wanted: string | null }>(
    db,
    'select wanted_time_zone as wanted from ops.rollup_state',
    [],
  );
  return state?.wanted ?? undefined;
}

/** Whether no call and no text is held, so that there are no rollups to compute again. */
export async function isWarehouseEmpty(db: Database | Transaction): Promise<boolean> {
  const [held] = await query<{ is_empty: boolean }>(
    db,
    'select not exists (select from warehouse.calls) and not exists (select from warehouse.sms_messages) as is_empty',
    [],
  );
  return held?.is_empty ?? false;
}
