import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import type { CallBackNeed } from '../warehouse/call-facts.ts';
import { holdSteps } from './rollups/steps.ts';

/** The definitions in `reporting.params` that the rollups depend on. */
export interface RollupParams {
  /** An IANA zone. */
  readonly timeZone?: string | undefined;
  readonly shortAbandonSeconds?: number | undefined;
}

/**
 * Changes the given definitions; the others stay. A schedule in the reports' time zone moves with it. Run {@link
 * rebuildRollups} afterwards.
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

/** Lets the views count the calls that need a call-back by these definitions, at once. */
export async function adoptCallBackNeed(db: Database, { reached, seconds }: CallBackNeed): Promise<void> {
  await query(
    db,
    sql`update reporting.params set missed_reached = ${reached}::text[], missed_seconds = ${seconds}
      where (missed_reached, missed_seconds) is distinct from (${reached}::text[], ${seconds}::integer)`,
  );
}

/** The IANA zone of the days in the reports. */
export async function reportsTimeZone(db: Database | Transaction): Promise<string> {
  const [params] = await query<{ time_zone: string }>(db, 'select time_zone from reporting.params', []);
  if (!params) throw new Error('reporting.params has no row');
  return params.time_zone;
}

/**
 * Uses TIME_ZONE for the days of the reports if there are no rollups to compute again. Records the wanted zone for
 * `data_quality` and `status`. Returns false if the reports keep another zone: with millions of calls, a person has to
 * decide about a rebuild. Undefined: TIME_ZONE isn't set, and any zone will do.
 */
export async function adoptTimeZone(db: Database, timeZone: string | undefined): Promise<boolean> {
  await query(db, 'update ops.rollup_state set wanted_time_zone = $1 where wanted_time_zone is distinct from $1', [
    timeZone ?? null,
  ]);
  if (timeZone === undefined || (await reportsTimeZone(db)) === timeZone) return true;
  if (!(await isWarehouseEmpty(db))) return false;
  return inTransaction(db, async (tx) => {
    // Changes that arrive meanwhile are rolled up afterwards, in the new zone.
    await holdSteps(tx);
    if (!(await isWarehouseEmpty(tx))) return (await reportsTimeZone(tx)) === timeZone;
    await changeParams(tx, { timeZone });
    // Empty rollups are correct in every zone, so none of them needs a rebuild.
    await query(tx, 'update ops.rollup_state set meaning = ops.rollup_meaning()', []);
    return true;
  });
}

/** Times at which a zone with summer time has each of its offsets, in several years. */
const comparedMoments = [2024, 2025, 2026, 2027].flatMap((year) =>
  ['01-15', '04-15', '07-15', '10-15'].map((day) => `${year}-${day}T12:00:00Z`),
);

/**
 * Whether Postgres and JavaScript understand the same by a zone. Each has its own list of zones, and Postgres reads
 * `CET` as an abbreviation without summer time. Resolves to false for an unknown zone.
 */
export async function isSameZone(db: Database, timeZone: string): Promise<boolean> {
  const rows = await query<{ at: string; local: string }>(
    db,
    sql`select at, to_char(timezone(${timeZone}::text, at::timestamptz), 'YYYY-MM-DD HH24:MI:SS') as local
      from unnest(${comparedMoments}::text[]) at`,
  ).catch((error: { code?: string }) => {
    if (error.code === unknownZone) return [];
    throw error;
  });
  return rows.length > 0 && rows.every(({ at, local }) => new Date(at).toLocaleString('sv-SE', { timeZone }) === local);
}

const unknownZone = '22023';

/** What is wrong with such a zone, following its name. */
export const otherZone = 'is unknown to Postgres, or has other hours there.';

/** The remedy for a TIME_ZONE that Postgres and JavaScript understand differently. Undefined if they agree. */
export async function timeZoneRemedy(db: Database, timeZone: string): Promise<string | undefined> {
  if (await isSameZone(db, timeZone)) return undefined;
  const name = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  const isKnown = await isSameZone(db, name);
  return `Set TIME_ZONE to ${isKnown ? name : 'the name of a place that Postgres knows, such as America/New_York'}.`;
}

/** The TIME_ZONE of the worker started last. Undefined if it wasn't set. */
export async function wantedTimeZone(db: Database | Transaction): Promise<string | undefined> {
  const [state] = await query<{ wanted: string | null }>(
    db,
    'select wanted_time_zone as wanted from ops.rollup_state',
    [],
  );
  return state?.wanted ?? undefined;
}

/** Whether there is neither a call nor a text, so no rollup would have to be computed again. */
export async function isWarehouseEmpty(db: Database | Transaction): Promise<boolean> {
  const [held] = await query<{ is_empty: boolean }>(
    db,
    'select not exists (select from warehouse.calls) and not exists (select from warehouse.sms_messages) as is_empty',
    [],
  );
  return held?.is_empty ?? false;
}
