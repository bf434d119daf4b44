import { toType } from '../../shared/command-name.ts';
import { countOf, span } from '../format.ts';
import type { DrainFailure, SetAsideChange } from '../snapshot/reporting.ts';
import { known, type Snapshot } from '../snapshot.ts';
import { defineCheck, type Finding } from './check.ts';

/** The parts of a snapshot that these checks need. */
type ReportParts = Pick<Snapshot, 'reporting' | 'takenAt'>;

/**
 * Seconds after which changes missing in the reports are reported. A drain runs every ten seconds, or every 900 while
 * reads are late.
 */
export const lateReportSeconds = 300;
const veryLateSeconds = 3_600;

const updated: Readonly<Record<DrainFailure['what'], string>> = {
  rollups: 'The reports of calls and texts',
  outcomes: 'The reports of rules and their texts',
};

const lockQuery =
  "`select pid, usename, state, query from pg_stat_activity where pid in (select pid from pg_locks where granted and relation::regclass::text ~ '^(rollups|ops)')` lists who holds one";

/** By SQLSTATE: causes of a failing drain that aren't a single fact. */
function remedyOf(code: string | null): string {
  switch (code) {
    case '42501':
      return `The role of DATABASE_URL lacks a right on the schemas rollups, reporting, ops or warehouse: give it back, or run ${toType('migrate')} as their owner.`;
    case '42P01':
    case '42703':
    case '42883':
      return `A table, column or function was changed by hand: restore it as the files in migrations/ have it (${toType('migrate')} restores views and functions).`;
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

/** A stopped drain, or how far the reports are behind. Every rollup failure ends in this check or the next one. */
const reportsLate = defineCheck({
  id: 'reports_late',
  measure({ reporting, takenAt }: ReportParts) {
    const status = known(reporting);
    if (status === undefined) return undefined;
    const secondsSince = (since: Date) => Math.max(0, (takenAt.getTime() - since.getTime()) / 1_000);
    const failing = status.failures.map(({ what, error, code, since }) => {
      const seconds = secondsSince(since);
      const remedy = `${remedyOf(code)} It is tried again every ten seconds, and nothing is lost: all facts are in the schema warehouse.`;
      return {
        ...{ since, seconds, remedy, error },
        sentence: `${updated[what]} stand still: the update has failed for ${span(seconds)}.`,
      };
    });
    const { waitingSince: since } = status;
    if (failing.length > 0 || since === null || secondsSince(since) <= lateReportSeconds) return failing;
    const seconds = secondsSince(since);
    const sentence = `The reports are ${span(seconds)} behind: they lack what changed since then.`;
    const remedy = `Check that a worker runs, and read its log for "Updating the rollups". While reads wait for longer than a minute, the reports come every 15 minutes only. If neither is so, a session may hold a lock: ${lockQuery}.`;
    return { since, seconds, sentence, remedy, error: '' };
  },
  level: ({ seconds }) => (seconds > veryLateSeconds ? 'problem' : 'warning'),
  sentence: ({ sentence }) => sentence,
  remedy: ({ remedy }) => remedy,
  since: ({ since }) => since,
  detail: ({ error }) => (error === '' ? undefined : `The error was: ${error}.`),
});

const namesRows =
  'ops.rollup_troubles lists them with their errors: correct the row in the schema warehouse, or report it. They are tried again within a quarter of an hour.';

function nameOf({ kind, bucketAt, conversationId, error }: SetAsideChange): string {
  const what =
    kind === 'thread'
      ? `turns of conversation ${conversationId}`
      : `${kind} from ${bucketAt?.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `${what} (${error})`;
}

const reportsIncomplete = defineCheck({
  id: 'reports_incomplete',
  measure({ reporting }: ReportParts) {
    const setAside = known(reporting)?.setAside;
    return setAside && setAside.count > 0 && setAside;
  },
  level: 'warning',
  sentence: ({ count }) => `The reports lack ${countOf(count, 'change')} that could not be counted.`,
  detail: ({ count, samples }) =>
    `They are ${samples.map(nameOf).join('; ')}${count > samples.length ? '; and more' : ''}.`,
  remedy: `A value there is out of range. ${namesRows}`,
  since: ({ since }) => since,
});

const reportsUndated = defineCheck({
  id: 'reports_undated',
  measure: ({ reporting }: ReportParts) => known(reporting)?.undatedCalls,
  level: 'warning',
  sentence: (count) =>
    `${countOf(count, 'call')} ${count === 1 ? 'has' : 'have'} no start that was understood, so no report has ${count === 1 ? 'it' : 'them'}.`,
  remedy:
    'Look at `select call_id from warehouse.calls where started_at is null and deleted_at is null`: ops.drift has the form of the time that the service sent. Report it. The count is taken hourly.',
});

const reportsStale = defineCheck({
  id: 'reports_stale',
  measure({ reporting }: ReportParts) {
    const status = known(reporting);
    if (status === undefined) return undefined;
    const { timeZone, wantedTimeZone, isCurrent } = status;
    const wanted = wantedTimeZone === timeZone ? null : wantedTimeZone;
    return (!isCurrent || wanted !== null) && { timeZone, wanted };
  },
  level: 'warning',
  sentence: ({ timeZone, wanted }) =>
    wanted === null
      ? 'Not all reports follow the definitions of now: hours, holidays, delivery words or reporting.params changed, or a rebuild has not ended.'
      : `TIME_ZONE is ${wanted}, but the days and hours of the reports are still those of ${timeZone}.`,
  remedy: ({ timeZone, wanted }) =>
    wanted === null
      ? `Run ${toType('reporting rebuild')}, unless it runs; workers may keep running.`
      : `Run ${toType('reporting rebuild')}; workers may keep running. Or set TIME_ZONE back to ${timeZone}.`,
});

const reportsDiffer = defineCheck({
  id: 'reports_differ',
  measure: ({ reporting }: ReportParts) => known(reporting)?.untied,
  // What a direction and a status mean is specified; whether a search by a user or a queue means what legs show is not.
  level: ({ isOfStatus }) => (isOfStatus ? 'warning' : 'notice'),
  sentence: ({ isOfStatus, count, days }) =>
    `${countOf(count, 'figure')} of calls ${isOfStatus ? 'by direction and status' : 'by queue or user'} on ${countOf(days, 'day')} ${count === 1 ? 'differs' : 'differ'} from the service’s own, although the calls were read again.`,
  detail: ({ date, figure, theirs, ours, callIds }) =>
    `${date}, ${figure}: the service lists ${theirs}, ${ours} are held${callIds.length > 0 ? ` (calls ${callIds.join(', ')})` : ''}.`,
  remedy: `Compare one of the calls with the portal, or run ${toType('resync call')} with its id. \`ops.attribution_days.differences\` names up to 100 of each figure. This ends a week after their day.`,
});

/** Whether the reports show what is mirrored. */
export const reportChecks = [reportsLate, reportsIncomplete, reportsUndated, reportsStale, reportsDiffer];

/** What is missing in the reports, and why. */
export function reportFindings(parts: ReportParts): Finding[] {
  return reportChecks.flatMap((check) => check.find(parts));
}
