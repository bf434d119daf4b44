import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { holdSteps } from './rollups/steps.ts';

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
    await holdSteps(tx);
    if (!(await isWarehouseEmpty(tx))) return (await reportsTimeZone(tx)) === timeZone;
    await changeParams(tx, { timeZone });
    // Rollups of nothing are right in every zone: none of them waits for a rebuild.
    await query(tx, 'update ops.rollup_state set meaning = ops.rollup_meaning()', []);
    return true;
  });
}

/** Moments at which a zone with summer time has each of its offsets, in several years. */
const comparedMoments = [2024, 2025, 2026, 2027].flatMap((year) =>
  ['01-15', '04-15', '07-15', '10-15'].map((day) => `${year}-${day}T12:00:00Z`),
);

/**
 * Whether Postgres and JavaScript mean the same time by a zone. Each brings its own list of zones, and Postgres reads `CET` as an
 * abbreviation, which has no summer time. An unknown zone resolves to false.
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

/** The name under which Postgres and JavaScript both know a zone that JavaScript knows; undefined when there is none. */
export async function commonNameOf(db: Database, timeZone: string): Promise<string | undefined> {
  const canonical = (name: string) => new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  const wanted = canonical(timeZone);
  if (await isSameZone(db, wanted)) return wanted;
  // A server with few zones knows Asia/Kolkata, whose canonical name in JavaScript is Asia/Calcutta.
  const known = await query<{ name: string }>(db, sql`select name from pg_timezone_names where name like '%/%'`);
  for (const { name } of known) {
    try {
      if (canonical(name) === wanted && (await isSameZone(db, name))) return name;
    } catch {
      // JavaScript does not know it.
    }
  }
  return undefined;
}

/** What is wrong with such a zone, after its name. */
export const otherZone = 'is unknown to Postgres, or has other hours there.';

/** The remedy for a TIME_ZONE on which Postgres and JavaScript differ; undefined when they agree. */
export async function timeZoneRemedy(db: Database, timeZone: string): Promise<string | undefined> {
  if (await isSameZone(db, timeZone)) return undefined;
  const name = await commonNameOf(db, timeZone);
  return `Set TIME_ZONE to ${name ?? 'the name of a place that Postgres knows, such as America/New_York'}.`;
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
