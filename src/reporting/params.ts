import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import type { CallBackNeed } from '../warehouse/call-facts.ts';
import { markEverything } from './rebuild.ts';
import { holdSteps } from './rollups/steps.ts';

/** Lets the views count the calls that need a call-back by these definitions, at once. */
export async function adoptCallBackNeed(db: Database, { reached, seconds }: CallBackNeed): Promise<void> {
  await query(
    db,
    sql`update reporting.params set missed_reached = ${reached}::text[], missed_seconds = ${seconds}
      where (missed_reached, missed_seconds) is distinct from (${reached}::text[], ${seconds}::integer)`,
  );
}

/** What the settings say of the reports. */
export interface ReportSettings {
  /** TIME_ZONE; undefined while nobody has chosen one. */
  readonly timeZone: string | undefined;
  /** BI_WORDS: whether views show what people wrote and said. */
  readonly areWordsShown: boolean;
}

/**
 * Takes over the settings of this process. In another time zone, everything is marked to be counted again. Resolves to
 * whether it was.
 */
export async function adoptSettings(db: Database, { timeZone, areWordsShown }: ReportSettings): Promise<boolean> {
  const zone = timeZone ?? 'UTC';
  await query(
    db,
    sql`update reporting.params set is_text_shown = ${areWordsShown} where is_text_shown <> ${areWordsShown}`,
  );
  await query(
    db,
    sql`update ops.rollup_state set time_zone = ${timeZone ?? null} where time_zone is distinct from ${timeZone ?? null}`,
  );
  const other = await query(db, sql`select from reporting.params where time_zone <> ${zone}`);
  if (other.length === 0) return false;
  return inTransaction(db, async (tx) => {
    // Changes that arrive meanwhile are rolled up afterwards, in the new zone.
    await holdSteps(tx);
    await query(tx, sql`update reporting.params set time_zone = ${zone}`);
    return markEverything(tx);
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

/** What is wrong with a TIME_ZONE that isn't the same zone, as the end of a sentence, and what to do. */
export const otherZone = {
  fault: 'is unknown to Postgres, or has other hours there.',
  remedy: 'Set TIME_ZONE to the name of a place that Postgres knows, such as America/New_York.',
};

/** The TIME_ZONE of the worker started last. Undefined if it wasn't set. */
export async function chosenTimeZone(db: Database | Transaction): Promise<string | undefined> {
  const [state] = await query(db, sql<{ time_zone: string | null }>`select time_zone from ops.rollup_state`);
  return state?.time_zone ?? undefined;
}
