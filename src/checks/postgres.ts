import { refusals, refusedMs } from '../db/connections.ts';
import { query, sql } from '../db/database.ts';
import { isAhead, isMigrated } from '../db/migrate.ts';
import { freeDisk } from '../db/refusals.ts';
import { outdatedViews } from '../db/repeatable.ts';
import { readConnections, running } from '../processes/running.ts';
import { beat } from '../shared/beat.ts';
import { toType } from '../shared/command-name.ts';
import { toTheSecond } from '../shared/format.ts';
import { type Checks, type Finding, rows, type Told } from './check.ts';

const unavailable: Told = {
  level: 'problem',
  sentence: 'Postgres doesn’t answer, so deliveries are answered 503 and nothing is mirrored.',
  remedy: `Check that Postgres runs, that its disk isn’t full (its own log says so), and that DATABASE_URL is right: ${toType('doctor')} names the reason.`,
};
const diskFull: Told = {
  level: 'problem',
  sentence: 'The disk of Postgres is full, so deliveries are answered 503 or nothing is mirrored.',
  remedy: freeDisk,
};
const takesNoWrites: Told = {
  level: 'problem',
  sentence: 'Postgres accepts no writes, so deliveries are answered 503 and nothing is mirrored.',
  remedy: 'Check that DATABASE_URL names the primary and that its disk isn’t full, and read the log of `web`.',
};
const connectionsTaken: Told = {
  level: 'problem',
  sentence: 'Postgres takes no more connections, so deliveries are answered 503 or nothing is mirrored.',
  remedy: `Run fewer web and worker processes, lower their DATABASE_POOL_SIZE, or raise the limit: ${toType('doctor')} names it.`,
};

/** How long a refused write counts. For a read-only session, less than the time that an alert must last. */
const diskFullMs = 60_000;
const readOnlyMs = () => beat.ms(15_000);

export const migrationsMissing: Finding = {
  check: 'schema_old',
  level: 'problem',
  sentence: 'The database lacks migrations of this release.',
  remedy: `Run ${toType('migrate')}; it names whatever is in the way.`,
  since: undefined,
};

/** Whether Postgres serves. */
export const postgresChecks: Checks = {
  // The process that can't reach Postgres reports it, because nothing can be asked then.
  database_unavailable: [],

  async connections_short({ db, settings }) {
    const { sentence: detail, remedy, isTooMuch } = await readConnections(db, settings.poolSize);
    if (remedy === undefined) return [];
    const sentence = isTooMuch
      ? 'Trunkline may open more connections than Postgres allows.'
      : 'Postgres has too few connections left for Trunkline.';
    return [{ ...connectionsTaken, level: 'warning', sentence, detail }];
  },

  async database_takes_no_writes({ db, settings, isRefusing }) {
    const [seen] = await query<{ isFull: boolean; isReadOnly: boolean }>(
      db,
      sql`select coalesce(bool_or(disk_full_at > now() - interval '2 minutes'), false) as "isFull",
         pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean
           or exists (select from ${running} p where is_refusing)
           or coalesce(bool_or(read_only_at > now() - ${readOnlyMs()} * interval '1 ms'), false) as "isReadOnly"
       from ops.processes`,
    );
    // This process may be unable to report to Postgres what Postgres refused it.
    const refusedFor = (code: typeof refusals.diskFull | typeof refusals.readOnly) =>
      refusedMs(settings.databaseUrl, code) ?? Number.POSITIVE_INFINITY;
    if (seen?.isFull || refusedFor(refusals.diskFull) < diskFullMs) return [diskFull];
    return isRefusing || seen?.isReadOnly || refusedFor(refusals.readOnly) < readOnlyMs() ? [takesNoWrites] : [];
  },

  writes_lost: rows(
    sql<{ from: Date; until: Date; isPaused: boolean }>`
      select lost_from as "from", noticed_at as until, is_paused as "isPaused"
      from ops.last_report, (select is_paused and paused_by = 'recovery' as is_paused from ops.send_control) k
      where noticed_at is not null and (is_paused or noticed_at > now() - interval '1 day')`,
    ({ from, until, isPaused }) => ({
      level: isPaused ? 'problem' : 'warning',
      sentence: `The database went back in time: what was written from ${toTheSecond(from, 'UTC')} to ${toTheSecond(until, 'UTC')} is lost.${isPaused ? ' All automatic texts are paused.' : ''}`,
      remedy: `Trunkline searches texts and calls of that time; rules act on nothing older than its end. Repeat what people did then: erasures, imports, rules, settings, decisions on opt-outs. ${
        isPaused ? `Then run ${toType('sends resume')}.` : 'This warning ends after a day.'
      }`,
      since: until,
    }),
  ),

  async schema_old({ db }) {
    if (!(await isMigrated(db))) return [migrationsMissing];
    // A newer release takes care of its own views.
    const views = (await isAhead(db)) ? [] : await outdatedViews(db);
    if (views.length === 0) return [];
    const sentence = 'Some reports aren’t those of this release.';
    return [{ ...migrationsMissing, level: 'warning', sentence, detail: `The views are ${views.join(', ')}.` }];
  },
};

const outages: Readonly<Record<string, Told & { readonly check: string }>> = {
  [refusals.readOnly]: { check: 'database_takes_no_writes', ...takesNoWrites },
  [refusals.diskFull]: { check: 'database_takes_no_writes', ...diskFull },
  '53300': { check: 'connections_short', ...connectionsTaken },
};

/** The finding for an error of a Postgres that can't serve, by its SQLSTATE. */
export const outageOf = (code: string): Finding => ({
  check: 'database_unavailable',
  ...(outages[code] ?? unavailable),
  since: undefined,
});
