import { toType } from '../../shared/command-name.ts';
import { countOf, span } from '../format.ts';
import type { DrainFailure, ReportingStatus, SetAsideChange } from '../snapshot/reporting.ts';
import type { HealthCheck } from './check.ts';

/** Seconds after which changes that the reports do not show are told. A drain comes every ten, or while reads are late, every 900. */
export const lateReportSeconds = 300;
const veryLateSeconds = 3_600;

/** What the reports lack, and why: every failure of a rollup ends in one of these. */
export function* checkReports(status: ReportingStatus, takenAt: Date): Iterable<HealthCheck> {
  yield* checkLateness(status, takenAt);
  yield* checkSetAside(status);
  yield* checkUndated(status);
  yield* checkDefinitions(status);
}

const updated: Readonly<Record<DrainFailure['what'], string>> = {
  rollups: 'The reports of calls and texts',
  outcomes: 'The reports of rules and their texts',
};

function* checkLateness({ waitingSince, failures }: ReportingStatus, takenAt: Date): Iterable<HealthCheck> {
  const secondsSince = (since: Date | null) =>
    since === null ? 0 : Math.max(0, (takenAt.getTime() - since.getTime()) / 1_000);
  for (const { what, error, code, since } of failures) {
    const remedy = `${remedyOf(code)} It is tried again every ten seconds, and nothing is lost: all facts are in the schema warehouse.`;
    yield {
      check: 'reports_late',
      level: secondsSince(since) > veryLateSeconds ? 'problem' : 'warning',
      since,
      sentence: `${updated[what]} stand still: the update has failed for ${span(secondsSince(since))} (${error}).`,
      remedy,
      alert: { sentence: `${updated[what]} stand still: the update fails.`, remedy: `${showsError} ${remedy}` },
    };
  }
  const late = secondsSince(waitingSince);
  if (waitingSince === null || late <= lateReportSeconds || failures.length > 0) return;
  yield {
    check: 'reports_late',
    level: late > veryLateSeconds ? 'problem' : 'warning',
    since: waitingSince,
    sentence: `The reports are ${span(late)} behind: they lack what changed since then.`,
    remedy: `Check that a worker runs, and read its log for "Updating the rollups". While reads wait for longer than a minute, the reports come every 15 minutes only. If neither is so, a session may hold a lock: ${lockQuery}.`,
  };
}

const showsError = `${toType('status')} shows the error.`;
const lockQuery =
  "`select pid, usename, state, query from pg_stat_activity where pid in (select pid from pg_locks where granted and relation::regclass::text ~ '^(rollups|ops)')` lists who holds one";

/** By SQLSTATE: what makes a drain fail that no single fact brings about. */
function remedyOf(code: string | null): string {
  switch (code) {
    case '42501':
      return `The role of DATABASE_URL lacks a right on the schemas rollups, reporting, ops or warehouse: give it back, or run ${toType('migrate')} as their owner.`;
    case '42P01':
    case '42703':
    case '42883':
      return `A table, column or function was changed by hand: restore it as migrations/schema.sql shows it (${toType('migrate')} restores views and functions).`;
    case '55P03':
      return `A session holds a lock on a table of the reports: ${lockQuery}; end it with pg_terminate_backend(pid).`;
    case '55000':
      return 'A publication or a setting of Postgres forbids the change: each table in a publication needs a primary key or a replica identity.';
    case '53100':
      return 'Free space on the disk of Postgres.';
    case '25006':
      return 'Check that DATABASE_URL names the primary.';
    default:
      return 'The log of the worker has the whole error.';
  }
}

function* checkSetAside({ setAside: { count, since, samples } }: ReportingStatus): Iterable<HealthCheck> {
  if (count === 0) return;
  const retry = 'They are tried again within a quarter of an hour.';
  const rows = 'ops.rollup_troubles lists them with their errors: mend the row in the schema warehouse';
  yield {
    check: 'reports_incomplete',
    level: 'warning',
    ...(since !== null && { since }),
    sentence: `The reports lack ${countOf(count, 'change')} that could not be counted: ${samples.map(nameOf).join('; ')}${count > samples.length ? '; and more' : ''}.`,
    remedy: `A value there is out of range. ${rows}, or report it. ${retry}`,
    alert: {
      sentence: `The reports lack ${countOf(count, 'change')} that could not be counted.`,
      remedy: `${showsError} ${rows}, or report it. ${retry}`,
    },
  };
}

function* checkUndated({ undatedCalls }: ReportingStatus): Iterable<HealthCheck> {
  if (undatedCalls === 0) return;
  yield {
    check: 'reports_undated',
    level: 'warning',
    sentence: `${countOf(undatedCalls, 'call')} ${undatedCalls === 1 ? 'has' : 'have'} no start that was understood, so no report has ${undatedCalls === 1 ? 'it' : 'them'}.`,
    remedy:
      'Look at `select call_id from warehouse.calls where started_at is null and deleted_at is null`: ops.drift has the form of the time that the service sent. Report it. The count is taken hourly.',
  };
}

function nameOf({ kind, bucketAt, conversationId, error }: SetAsideChange): string {
  const what =
    kind === 'thread'
      ? `turns of conversation ${conversationId}`
      : `${kind} from ${bucketAt?.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `${what} (${error})`;
}

function* checkDefinitions({ timeZone, wantedTimeZone, isCurrent }: ReportingStatus): Iterable<HealthCheck> {
  const isOtherZone = wantedTimeZone !== null && wantedTimeZone !== timeZone;
  if (isCurrent && !isOtherZone) return;
  yield {
    check: 'reports_stale',
    level: 'warning',
    sentence: isOtherZone
      ? `TIME_ZONE is ${wantedTimeZone}, but the days and hours of the reports are still those of ${timeZone}.`
      : 'Not all reports follow the definitions of now: hours, holidays, delivery words or reporting.params changed, or a rebuild has not ended.',
    remedy: isOtherZone
      ? `Run ${toType('reporting rebuild')}; workers may keep running. Or set TIME_ZONE back to ${timeZone}.`
      : `Run ${toType('reporting rebuild')}, unless it runs; workers may keep running.`,
  };
}
